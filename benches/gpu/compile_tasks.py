"""`passnet.compile` on the graphs of tasks, next to the direct path of the referee, in one process.

    passnet fuse TASKS --device cuda --out PASSES
    PYTHONPATH=python:benches python benches/gpu/compile_tasks.py TASKS PASSES [--device cuda] [--seconds 500] [--graphs]

TASKS is a folder of task folders, PASSES the passes of the built-in author. For the first graph of each task, the script calls in turns:

- `eager`: eager mode, by `forward`;
- `model`: eager mode, by a call of the module as users make it, which takes longer;
- `direct`: the graph rewritten with the passes, by `forward`, as the referee calls it;
- `compile`: `passnet.compile` without CUDA graphs (`--graphs`: with them), as users call it.

Each call ends with a synchronisation. Prints one JSON object per task, with medians in microseconds and the regions that `passnet.compile`
left to PyTorch, and a summary at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from models.sides import error
from whole.captured import Sample

import passnet
from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import rewrite

ROUNDS, CALLS = 12, 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks", type=Path)
    parser.add_argument("passes", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--filter", default="", help="only tasks whose names begin with one of these, separated by commas"
    )
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--graphs", action="store_true", help="use CUDA graphs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    until = time.monotonic() + options.seconds
    rows = []
    starts = tuple(options.filter.split(","))
    for task in sorted(path for path in options.tasks.iterdir() if path.is_dir() and path.name.startswith(starts)):
        if time.monotonic() > until:
            break
        try:
            row = measured(task, options.passes / task.name, options.device, graphs=options.graphs)
        except Exception as fault:
            row = {"failed": f"{type(fault).__name__}: {fault}"[:300]}
        print(json.dumps({"task": task.name, **row}), flush=True)
        rows.append(row)
        torch._dynamo.reset()
    print(json.dumps(summary(rows)), flush=True)


def measured(task: Path, passes: Path, device: str, *, graphs: bool) -> dict[str, Any]:
    """The row of a task: times of its first graph, and what `passnet.compile` left to PyTorch."""
    folder = min(path for path in task.iterdir() if path.is_dir())
    sample = Sample(folder, device, "inputs")
    module, inputs = sample.module(), sample.inputs()
    directory = PassDirectory.load(str(passes)) if passes.is_dir() else None
    compiled = passnet.compile(sample.module(), cuda_graphs=graphs)
    with torch.no_grad():
        expected = module(*inputs)
        sides: dict[str, Callable[..., Any]] = {"eager": module.forward, "model": module}
        if directory is not None:
            sides["direct"] = rewrite(torch.fx.symbolic_trace(module), directory.passes).module.forward
        sides["compile"] = compiled
        row: dict[str, Any] = {}
        for name, side in sides.items():
            for _ in range(3):
                found = side(*inputs)
            if name not in ("eager", "model"):
                row[f"{name}_error"] = error(found, expected)
        row |= {f"{name}_us": value for name, value in times(sides, inputs, device).items()}
    report = compiled.report().as_dict()
    kinds = report["specialisations"]
    row["left"] = [region for kind in kinds for region in kind["regions"] if not region["kept"]]
    row["kept"] = sum(region["kept"] for kind in kinds for region in kind["regions"])
    row["notes"] = [note for kind in kinds for note in kind["notes"]]
    row["by_pytorch"] = report["eager"]
    row["whole"] = [{name: kind[name] for name in ("model_ns", "call_ns", "by_model")} for kind in kinds]
    return row


def times(sides: dict[str, Callable[..., Any]], inputs: list[torch.Tensor], device: str) -> dict[str, float]:
    """Median microseconds of a call of each side. The sides are called in turns, and the order alternates."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    read: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(ROUNDS):
        for name in names if number % 2 else reversed(names):
            side, values = sides[name], read[name]
            for _ in range(CALLS):
                wait()
                begin = time.perf_counter_ns()
                side(*inputs)
                wait()
                values.append(time.perf_counter_ns() - begin)
    return {name: statistics.median(values) / 1e3 for name, values in read.items()}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means over the tasks that both paths measured."""
    both = [row for row in rows if {"direct_us", "compile_us"} <= row.keys()]

    def mean(above: str, below: str) -> float:
        return round(math.exp(statistics.fmean(math.log(row[above] / row[below]) for row in both)), 3) if both else 0.0

    return {
        "tasks": len(rows),
        "both": len(both),
        "direct": mean("eager_us", "direct_us"),
        "compile": mean("eager_us", "compile_us"),
        "compile_over_model": mean("model_us", "compile_us"),
        "compile_over_direct": mean("compile_us", "direct_us"),
    }


if __name__ == "__main__":
    main()
