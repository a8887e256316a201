"""Distance of each task from the bound of its device: `gpu_bound.py RUNS SUITE PLOT`, with RUNS of `benches/gpu/run.sh`, unpacked.

Prints the fragment of docs/results/h200.md, one row for each task, and writes the distribution of speed-ups to PLOT (SVG).
SUITE is the folder of tasks, whose metadata says how many bytes go in; verdicts say how many come out.

The bound of a graph is one launch, on top of what measuring an empty call takes, and every input read and every output
written once. No graph with a product or a convolution reaches it, since those stay as they are.
"""

from __future__ import annotations

import math
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from logs import verdicts

# Of one H200: microseconds of events and synchronisation around nothing, and of a launch; bytes a microsecond.
FLOOR_US, LAUNCH_US, BANDWIDTH = 19.0, 3.0, 4e6

BYTES = {"64": 8, "32": 4, "16": 2, "8": 1, "ol": 1}  # By the end of a dtype's name.
LIBRARY = re.compile(r"conv|linear|matmul|bmm|attention|einsum|lstm|gru|fft| @ ")
AUTHORS = ("fuse", "inductor")


@dataclass
class Row:
    """One task of one graph."""

    task: str
    eager: float
    bound: float
    by_author: dict[str, float]
    library: bool
    calls: int

    def speedup(self, author: str) -> float:
        """Of an author against eager."""
        return self.eager / self.by_author[author]


def nbytes(shape: list[int], dtype: str) -> int:
    """Of a tensor that is stored densely."""
    return math.prod(shape) * BYTES[dtype[-2:].lstrip("t")]


def bytes_read(sample: Path) -> int:
    """Of all inputs of a graph."""
    text = (sample / "weight_meta.py").read_text()
    shapes = re.findall(r"^\s+shape = \[([^]]*)\]", text, re.MULTILINE)
    dtypes = re.findall(r"^\s+dtype = [\"']torch\.(\w+)[\"']", text, re.MULTILINE)
    return sum(
        nbytes([int(size) for size in shape.split(",") if size.strip()], dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    )


def rows(runs: Path, suite: Path) -> list[Row]:
    """Returns the graphs that the authors have right, the fastest of the first author first."""
    found = {
        author: {tuple(v["id"].values()): v for v in verdicts(runs / author) if v["timings"]} for author in AUTHORS
    }
    result = []
    for (task, graph), verdict in found["fuse"].items():
        timing = verdict["timings"][0]
        written = sum(nbytes(output["shape"], output["dtype"]) for output in verdict["outputs"])
        moved = written + bytes_read(suite / task / graph)
        by_author = {"fuse": timing["candidate"]["median_ns"] / 1e3}
        eager = timing["base"]["median_ns"] / 1e3
        if other := found["inductor"].get((task, graph)):
            # Relative to eager mode of the other run, so that differences between the runs do not count.
            by_author["inductor"] = eager / other["timings"][0]["speedup"]["ratio"]
        after = verdict["evidence"]["rewritten"] or ""
        lines = [line for line in after.splitlines() if " = " in line and not re.search(r"= \w+\[\d+\]", line)]
        result.append(
            Row(
                task=task,
                eager=eager,
                bound=FLOOR_US + LAUNCH_US + moved / BANDWIDTH,
                by_author=by_author,
                library=any(LIBRARY.search(line) for line in lines),
                calls=len(lines),
            )
        )
    return sorted(result, key=lambda row: -row.speedup("fuse"))


def mean(values: list[float]) -> float:
    """The geometric one."""
    return math.exp(statistics.mean(map(math.log, values)))


def summary(title: str, part: list[Row]) -> str:
    """One row of the table of what is lost where."""
    reached = mean([row.speedup("fuse") for row in part])
    possible = mean([row.eager / row.bound for row in part])
    lost = sum(row.by_author["fuse"] - row.bound for row in part) / len(part)
    median = statistics.median(row.by_author["fuse"] - row.bound for row in part)
    return f"| {title} | {len(part)} | {reached:.2f} | {possible:.2f} | {reached / possible:.2f} | {median:.0f} | {lost:.0f} |"


def plot(found: list[Row]) -> str:
    """Speed-ups in order of size, one line for each author, on a logarithmic axis."""
    width, height, left, low, high = 720, 300, 48, -2.0, 3.0

    def y(speedup: float) -> float:
        return height - 30 - (min(max(math.log2(speedup), low), high) - low) / (high - low) * (height - 50)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        "<title>Speed-up over eager of each task, in order of size</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for power in range(int(low), int(high) + 1):
        at = y(2.0**power)
        parts.append(f'<path d="M{left} {at:.1f}H{width - 10}" stroke="{"#666" if power == 0 else "#ddd"}"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{2.0**power:g}</text>')
    curves = {
        "the bound": ("#999", [row.eager / row.bound for row in found]),
        "fuse": ("#0a6", [row.speedup("fuse") for row in found]),
        "inductor": ("#c40", [row.speedup("inductor") for row in found if "inductor" in row.by_author]),
    }
    for place, (name, (colour, values)) in enumerate(curves.items()):
        step = (width - left - 10) / (len(values) - 1)
        points = " ".join(f"{left + i * step:.1f},{y(value):.1f}" for i, value in enumerate(sorted(values)))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + 10 + 90 * place}" y="16" fill="{colour}">{name}</text>')
    parts.append(
        f'<text x="{width - 10}" y="{height - 8}" text-anchor="end">tasks, slowest first; axis cut at 1/4 and 8</text>'
    )
    return "\n".join([*parts, "</svg>\n"])


def main(runs: Path, suite: Path, picture: Path) -> None:
    found = rows(runs, suite)
    kept = [row for row in found if row.library]
    free = [row for row in found if not row.library]
    print("| tasks | number | fuse | bound | of it | us lost, median | us lost, mean |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(summary("all", found))
    print(summary("with a product, a convolution or attention", kept))
    print(summary("without, one call", [row for row in free if row.calls == 1]))
    print(summary("without, several calls", [row for row in free if row.calls > 1]))
    print("\n| task | eager us | inductor us | fuse us | bound us | inductor | fuse | of the bound | calls | kept |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for row in found:
        other = row.by_author.get("inductor")
        print(
            f"| {row.task[:8]} | {row.eager:.1f} | {'-' if other is None else f'{other:.1f}'} | {row.by_author['fuse']:.1f} | "
            f"{row.bound:.1f} | {'-' if other is None else f'{row.eager / other:.2f}'} | {row.speedup('fuse'):.2f} | "
            f"{row.bound / row.by_author['fuse']:.2f} | {row.calls} | {'library' if row.library else ''} |"
        )
    picture.write_text(plot(found))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
