"""Overhead of blocks of timed calls, for graphs of about 2 us, 20 us, 200 us and 2 ms in eager mode on one core of a CPU.

`overhead.py write FOLDER` writes the suite, and `overhead.py table RUN` prints a table of a run on it:

    python benches/trust/overhead.py write /tmp/sizes
    passnet bench run /tmp/sizes --author eager --device cpu --paths direct --out /tmp/run
    python benches/trust/overhead.py table /tmp/run
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from logs import verdicts
from small_graphs import write_suite, write_task

# Rows of 1,024 elements of a hyperbolic tangent. The first graph has few elements, so its time is that of the call.
GRAPHS = {"2us": [1, 64], "20us": [10, 1024], "200us": [100, 1024], "2ms": [1000, 1024]}


def write(folder: Path) -> None:
    tasks = [write_task(folder, f"tanh-{name}", "torch.tanh(in_0)", shape) for name, shape in GRAPHS.items()]
    write_suite(folder, "block-overhead", "Graphs of different durations.", tasks)


def table(run: Path) -> None:
    print("| graph | median of eager, us | overhead of eager | of the candidate | charged, ns | evaluation, s |")
    print("|---|---|---|---|---|---|")
    for verdict in verdicts(run):
        if not verdict["timings"]:
            print(f"| {verdict['id']['task']} | {verdict['status']} | | | | |")
            continue
        timing = verdict["timings"][0]
        base, candidate = timing["base"], timing["candidate"]
        shares = " | ".join(f"{100 * side['overhead']:.2f} %" for side in (base, candidate))
        cells = f"{verdict['id']['task']} | {base['median_ns'] / 1e3:.1f} | {shares}"
        print(f"| {cells} | {timing.get('charged_ns', 0)} | {verdict['cost']['wall_ns'] / 1e9:.2f} |")


if __name__ == "__main__":
    {"write": write, "table": table}[sys.argv[1]](Path(sys.argv[2]))
