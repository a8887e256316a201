"""Collects the runs of `evaluate.sh` as OUT/results.json and OUT/results.md.

python recipes/from_scratch/results.py PASSNET OUT
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

RIGHT = ("correct", "unstable")
"""Statuses of right results; the timing of `unstable` did not settle."""


def main() -> None:
    passnet, out = sys.argv[1], Path(sys.argv[2])
    rows = {}
    for run in sorted(path for path in (out / "runs").iterdir() if path.is_dir()):
        row = row_of(passnet, run / "run")
        if row:
            rows[run.name] = row
    (out / "results.json").write_text(json.dumps({"schema_version": 1, "authors": rows}, indent=1))
    # Answers to training tasks are not authors on the evaluated suite.
    evaluated = {name: row for name, row in rows.items() if not name.startswith("practice")}
    (out / "results.md").write_text(table(evaluated))


def row_of(passnet: str, run: Path) -> dict[str, object] | None:
    """Returns the figures of one run, which may have been cut off; `None` if it has no verdict."""
    scores, rows = report(passnet, run, "json"), report(passnet, run, "csv")
    if not scores or not rows:
        return None
    verdicts = list(csv.DictReader(io.StringIO(rows)))
    (read,) = json.loads(scores)["runs"]
    header, score = read["header"], read["score"]
    right = [row for row in verdicts if row["status"] in RIGHT]
    faster = [row for row in right if row["speedup_low"] and float(row["speedup_low"]) > 1.02]
    return {
        "suite": f"{header['suite']} {header['suite_version']}",
        "graphs": len(verdicts),
        "right": len(right),
        "faster": len(faster),
        "aggregated": score["aggregated"],
        "sound": score["sound"],
        "statuses": Counter(row["status"] for row in verdicts),
        "right_tasks": sorted(row["task"] for row in right),
    }


def report(passnet: str, run: Path, form: str) -> str:
    done = subprocess.run([passnet, "report", str(run), "--format", form], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def table(rows: dict[str, dict]) -> str:
    """Returns the figures as a Markdown table."""
    lines = ["| author | graphs | right | faster (95 %) | AS | sound score |", "|---|---:|---:|---:|---:|---|"]
    for name, row in rows.items():
        share = 100 * row["right"] / row["graphs"]
        interval = row["sound"].get("interval")
        between = f" ({interval['low']:.3f} to {interval['high']:.3f})" if interval else ""
        figures = f"{row['right']} ({share:.0f} %) | {row['faster']} | {row['aggregated']:.3f}"
        lines.append(f"| `{name}` | {row['graphs']} | {figures} | {row['sound']['score']:.3f}{between} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
