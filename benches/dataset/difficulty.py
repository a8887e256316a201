"""Difficulty of tasks on an H200: `difficulty.py OUT PLOT SUITE[=RUN|REPORT...] ...`.

Prints a table, and writes one line of JSON for each task to OUT (`docs/reference/dataset-card.md` is made from it) and a plot to PLOT. SUITE is
the folder of a suite. After `=` come runs on an H200, separated by commas: folders of run logs, whose verdicts have the times of eager mode,
and reports (`.json`, `.json.gz`), whose run `inductor-direct` has the speed-up of Inductor. Later ones win.

Of the first graph of each task, bytes are those of all inputs read and all outputs written once. Operations are counted by
`torch.utils.flop_counter` while the graph runs on tensors without content, so only products, convolutions and attention count. The bound is
one launch and the longer of both times. A task is bound by the longest of the three.
"""

from __future__ import annotations

import gzip
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow.parquet
import torch
from logs import verdicts
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

# Of one H200: microseconds of events and synchronisation around nothing, and of a launch; bytes a microsecond; operations a microsecond
# of the tensor cores at two bytes, and of the other units at four or more, where PyTorch does not use TF32 by default.
FLOOR_US, LAUNCH_US, BANDWIDTH = 19.0, 3.0, 4e6
HALF, SINGLE = 9.9e8, 6.7e7

CLASSES = ("launch", "memory", "compute")
COLOURS = {"launch": "#888", "memory": "#06c", "compute": "#c40"}


def first_graphs(suite: Path) -> dict[str, dict[str, Any]]:
    """Returns the row of the first graph of each task."""
    columns = ["path", "model_py", "inputs"]
    rows = pyarrow.parquet.ParquetDataset(suite / "subgraphs").read(columns=columns).to_pylist()
    by_path = {row["path"]: row for row in rows}
    tasks = pyarrow.parquet.ParquetDataset(suite / "tasks").read(columns=["id", "graphs"]).to_pylist()
    return {task["id"]: by_path[task["graphs"][0]] for task in tasks}


def work_of(row: dict[str, Any]) -> dict[str, Any] | None:
    """Returns bytes, operations and the widest floating-point dtype of a graph; None if its shapes depend on values."""
    scope: dict[str, Any] = {}
    exec(row["model_py"], scope)
    counter = FlopCounterMode(display=False)
    try:
        with FakeTensorMode(), torch.no_grad(), counter:
            inputs = [torch.empty(one["shape"], dtype=getattr(torch, one["dtype"])) for one in row["inputs"]]
            outputs = scope["GraphModule"]().forward(*inputs)
    except Exception as error:
        print(f"{row['path']}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    tensors = [value for value in [*inputs, *outputs] if isinstance(value, torch.Tensor)]
    floating = [value.element_size() for value in inputs if value.is_floating_point()]
    moved = sum(value.numel() * value.element_size() for value in tensors)
    return {"bytes": moved, "flops": counter.get_total_flops(), "half": bool(floating) and max(floating) == 2}


def bound_of(work: dict[str, Any]) -> dict[str, Any]:
    """Returns the class of a graph, and the least microseconds that it takes."""
    times = (LAUNCH_US, work["bytes"] / BANDWIDTH, work["flops"] / (HALF if work["half"] else SINGLE))
    return {"bound": CLASSES[times.index(max(times))], "bound_us": round(LAUNCH_US + max(times[1:]), 2)}


def measured(sources: list[Path]) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the microseconds of eager mode above an empty call, and the speed-up of Inductor, by task."""
    eager: dict[str, float] = {}
    inductor: dict[str, float] = {}
    for source in sources:
        if source.is_dir():
            # The first graph only: the others of a task have other extents.
            timed = [v for v in verdicts(source) if v["timings"] and v["id"]["graph"] == "000"]
            eager |= {v["id"]["task"]: v["timings"][0]["base"]["median_ns"] / 1e3 for v in timed}
            continue
        packed = source.read_bytes()
        report = json.loads(gzip.decompress(packed) if source.suffix == ".gz" else packed)
        for run in report["runs"]:
            if run["header"]["run"] == "inductor-direct":
                timed = [task for task in run["score"]["tasks"] if task["correct"] == 1 and task["geomean_speedup"]]
                inductor |= {task["task"]: task["geomean_speedup"] for task in timed}
    return eager, inductor


def lines(suite: Path, sources: list[Path]) -> list[dict[str, Any]]:
    """Returns the difficulty of each task of a suite."""
    eager, inductor = measured(sources)
    found = []
    for task, row in first_graphs(suite).items():
        work = work_of(row)
        if work is None:
            continue
        line = {"schema_version": 1, "suite": suite.name, "task": task, "bytes": work["bytes"], "flops": work["flops"]}
        line |= bound_of(work)
        if task in eager:
            line["eager_us"] = round(max(eager[task] - FLOOR_US, 0.0), 2)
            if task in inductor:
                line["inductor_us"] = round(max(eager[task] / inductor[task] - FLOOR_US, 0.0), 2)
        found.append(line)
    return found


def plot(found: list[dict[str, Any]]) -> str:
    """Time of eager mode of each task against its bound, on logarithmic axes; below, the classes of each suite."""
    width, height, left, low, high = 720, 420, 60, 0.0, 4.0
    timed = [line for line in found if line.get("eager_us")]

    def at(value: float, start: float, end: float) -> float:
        return start + (min(max(math.log10(value), low), high) - low) / (high - low) * (end - start)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 120}" font-family="sans-serif" font-size="12">',
        "<title>Eager time of each task against its bound on an H200</title>",
        f'<rect width="{width}" height="{height + 120}" fill="#fff"/>',
    ]
    for power in range(int(low), int(high) + 1):
        x, y = at(10.0**power, left, width - 20), at(10.0**power, height - 40, 30)
        parts.append(f'<path d="M{x:.0f} 30V{height - 40}M{left} {y:.0f}H{width - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.0f}" y="{height - 24}" text-anchor="middle">{10**power}</text>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{10**power}</text>')
    parts.append(f'<path d="M{left} {height - 40}L{width - 20} 30" stroke="#666"/>')
    for line in timed:
        x, y = at(line["bound_us"], left, width - 20), at(max(line["eager_us"], 1.0), height - 40, 30)
        colour = COLOURS[line["bound"]]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" fill-opacity="0.6"/>')
    parts.append(
        f'<text x="{width - 20}" y="{height - 8}" text-anchor="end">bound, us; the line is eager = bound</text>'
    )
    parts.append(f'<text x="{left}" y="16">eager, us, of {len(timed)} tasks</text>')
    for place, name in enumerate(CLASSES):
        parts.append(f'<text x="{left + 200 + 120 * place}" y="16" fill="{COLOURS[name]}">{name}-bound</text>')
    for place, suite in enumerate(dict.fromkeys(line["suite"] for line in found)):
        parts += bar(suite, [line for line in found if line["suite"] == suite], height + 20 + 24 * place)
    return "\n".join([*parts, "</svg>\n"])


def bar(suite: str, found: list[dict[str, Any]], y: int) -> list[str]:
    """The share of each class in a suite."""
    parts, x = [f'<text x="10" y="{y + 12}">{suite}</text>'], 110.0
    for name in CLASSES:
        count = sum(line["bound"] == name for line in found)
        step = 560 * count / max(len(found), 1)
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{step:.1f}" height="16" fill="{COLOURS[name]}"/>')
        if count:
            parts.append(f'<text x="{x + 4:.1f}" y="{y + 12}" fill="#fff">{count}</text>')
        x += step
    return parts


def summary(found: list[dict[str, Any]]) -> str:
    """One row for each suite and class: tasks, measured ones, and how far eager mode and Inductor are from the bound."""
    rows = ["| suite | bound by | tasks | eager / bound | Inductor / bound |", "|---|---|---:|---:|---:|"]
    for suite in dict.fromkeys(line["suite"] for line in found):
        for name in CLASSES:
            part = [line for line in found if line["suite"] == suite and line["bound"] == name]
            ratios = [
                [line[key] / line["bound_us"] for line in part if key in line] for key in ("eager_us", "inductor_us")
            ]
            cells = [f"{statistics.median(values):.1f} ({len(values)})" if values else "-" for values in ratios]
            if part:
                rows.append(f"| {suite} | {name} | {len(part)} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows)


def main(out: Path, picture: Path, suites: list[str]) -> None:
    found = []
    for argument in suites:
        suite, _, sources = argument.partition("=")
        found += lines(Path(suite), [Path(source) for source in sources.split(",") if source])
    out.write_text("".join(json.dumps(line) + "\n" for line in found))
    picture.write_text(plot(found))
    print(summary(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
