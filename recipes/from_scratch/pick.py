"""Hands in, for each task, the first of several answers that loads, passes the lint rules and matches the graph.

    python recipes/from_scratch/pick.py PASSNET GRAPHS OUT CANDIDATES...

GRAPHS has the graph of each task as GRAPHS/TASK/NAME. CANDIDATES are folders with one pass directory per task, in order of preference.
OUT gets one per task. `passnet match` decides, which needs no device and runs no kernel: a check that every author may run on its own
work. No verdict of the referee takes part. Where no answer passes, the first is handed in.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from lessons import ORDER_FILE


def main() -> None:
    passnet, (graphs, out, *candidates) = sys.argv[1], map(Path, sys.argv[2:])
    tasks = sorted(path.name for path in candidates[0].iterdir())
    # Few tasks need more than their first answer, so the others are checked only where they are needed.
    usable = checked(passnet, graphs, [candidates[0] / task for task in tasks])
    open_tasks = [task for task in tasks if candidates[0] / task not in usable]
    usable |= checked(passnet, graphs, [folder / task for folder in candidates[1:] for task in open_tasks])
    counts = {"tasks": len(tasks), "first": len(tasks) - len(open_tasks), "later": 0, "none": 0}
    for task in tasks:
        chosen = next((folder / task for folder in candidates if folder / task in usable), None)
        counts["none"] += chosen is None
        counts["later"] += chosen is not None and chosen.parent != candidates[0]
        shutil.copytree(chosen or candidates[0] / task, out / task)
    print(json.dumps(counts))


def checked(passnet: str, graphs: Path, folders: list[Path]) -> set[Path]:
    """Returns those pass directories whose passes load, pass the lint rules and match the graph of their task."""
    present = [folder for folder in folders if folder.is_dir() and json.loads((folder / ORDER_FILE).read_text())]
    if not present:
        return set()
    command = [passnet, "match", *map(str, present), "--dataset", str(graphs), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise SystemExit(done.stderr[-2000:])
    good: Counter[Path] = Counter()
    for one in json.loads(done.stdout)["passes"]:
        folder = Path(one["directory"])
        # A pass that matches more graphs than are listed counts as one that matches its own.
        own = one["graphs"] > len(one["examples"]) or any(folder.name in Path(path).parts for path in one["examples"])
        good[folder] += own and not one["error"]
    # A directory that cannot be imported has no entry.
    return {folder for folder in present if good[folder] == len(json.loads((folder / ORDER_FILE).read_text()))}


if __name__ == "__main__":
    main()
