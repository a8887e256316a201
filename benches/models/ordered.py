"""A suite of captured models in order of size, each a task of its own.

    python benches/models/ordered.py SAMPLES OUT [--most N] [--step K]

SAMPLES is a folder that `passnet extract` wrote, such as the cached one of `suites/whole-models`. Models of several graphs are left out. The
size of a model is that of its text. `--step 4` takes each fourth.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("samples", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--step", type=int, default=1)
    arguments = parser.parse_args()
    files = [path for path in arguments.samples.rglob("model.py") if not path.parent.name.startswith("subgraph_")]
    files.sort(key=lambda path: (path.stat().st_size, str(path)))
    tasks = []
    for file in files[:: arguments.step][: arguments.most]:
        name = file.parent.relative_to(arguments.samples)
        shutil.copytree(file.parent, arguments.out / name / "graph")
        tasks.append({"id": str(name), "ops": [], "graphs": ["graph"]})
    suite = {"schema_version": 1, "name": "whole-models", "version": "", "split": "eval"}
    suite |= {"description": "Whole models in order of size", "weights": "static", "tasks": tasks}
    (arguments.out / "suite.json").write_text(json.dumps(suite, indent=1) + "\n")


if __name__ == "__main__":
    main()
