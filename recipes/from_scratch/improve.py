"""Collects right answers of a run of `evaluate.sh` on training tasks as further lessons, which is one round of expert iteration.

    python recipes/from_scratch/improve.py PASSNET DATA OUT EXTRA NAME=PASSES...

NAME is a run in OUT/runs, PASSES the directory of its passes, next to which PASSES.json has the answers. EXTRA gets a JSON line with prompt and answer for each answer that the
referee found right, and not slower than eager mode: its interval reaches 1. Prints counts.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

from lessons import NOTHING
from results import RIGHT, report


def main() -> None:
    passnet, data, out, extra = sys.argv[1], *map(Path, sys.argv[2:5])
    prompts = {task["id"]: task["prompt"] for task in json.loads((data / "practice.json").read_text())}
    counts = {"judged": 0, "right": 0, "kept": 0}
    pairs: dict[tuple[str, str], None] = {}
    for name, _, passes in (pair.partition("=") for pair in sys.argv[5:]):
        answers = json.loads(Path(f"{passes}.json").read_text())
        for row in verdicts(passnet, out / "runs" / name / "run"):
            counts["judged"] += 1
            if row["status"] not in RIGHT:
                continue
            counts["right"] += 1
            answer = answers[row["task"]]
            if row["speedup_high"] and float(row["speedup_high"]) >= 1 and answer != NOTHING:
                pairs[prompts[row["task"]], answer] = None
    counts["kept"] = len(pairs)
    extra.write_text("".join(json.dumps({"prompt": prompt, "answer": answer}) + "\n" for prompt, answer in pairs))
    print(json.dumps(counts))


def verdicts(passnet: str, run: Path) -> list[dict[str, str]]:
    """Returns the verdicts of a run, which may have been cut off or never begun."""
    return list(csv.DictReader(io.StringIO(report(passnet, run, "csv")))) if run.is_dir() else []


if __name__ == "__main__":
    main()
