"""Writes the figures of `benches/cpu/run.sh` as a fragment of docs/results/cpu.md: `cpu_page.py OUT`."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from logs import verdicts


def quantile(values: list[float], q: float) -> float:
    """By linear interpolation, as NumPy has it."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def scored(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The timing against eager that scores are made of, of each graph that has one."""
    return [verdict["timings"][0] for verdict in found if verdict["timings"]]


def against_itself(name: str, found: list[dict[str, Any]]) -> str:
    """Returns a sentence on the ratios of eager mode against itself."""
    speedups = [timing["speedup"] for timing in scored(found)]
    covered = statistics.mean(bound["low"] <= 1 <= bound["high"] for bound in speedups)
    near = statistics.mean(abs(bound["ratio"] - 1) <= 0.02 for bound in speedups)
    width = statistics.median(math.log(bound["high"] / bound["low"]) / 2 for bound in speedups)
    unstable = sum(verdict["status"] == "unstable" for verdict in found)
    ratio = statistics.median(bound["ratio"] for bound in speedups)
    return (
        f"| {name} | {len(found)} | {ratio:.4f} | {100 * near:.1f} % | {100 * covered:.1f} % | "
        f"±{100 * width:.2f} % | {unstable} |"
    )


def cost(found: list[dict[str, Any]]) -> str:
    """Time per graph outside the trials, in words."""
    rest = [(verdict["cost"]["wall_ns"] - verdict["cost"]["trials_ns"]) / 1e6 for verdict in found]
    return f"{statistics.median(rest):.0f} ms at the median graph, 90 % below {quantile(rest, 0.9):.0f} ms"


def main(out: Path) -> None:
    runs = {path.name: verdicts(path) for path in sorted((out / "runs").iterdir())}
    versions = json.loads((out / "report.json").read_text())["runs"][0]["header"]["fingerprint"]
    print(f"<!-- {json.dumps(versions)} -->\n")

    print(
        "| run | AS | sound score | 95 % interval | G-mean | correct | fast_1 | graphs |\n|---|---|---|---|---|---|---|---|"
    )
    for run in json.loads((out / "report.json").read_text())["runs"]:
        score, header = run["score"], run["header"]
        sound = score.get("sound") or {}
        bounds = sound.get("interval") or {}
        mean = score.get("geomean_speedup")
        done = max(1, score["graphs"])
        print(
            f"| {header['run']} | {score['aggregated']:.3f} | {sound.get('score', math.nan):.3f} | "
            f"{bounds.get('low', math.nan):.3f}-{bounds.get('high', math.nan):.3f} | "
            f"{math.nan if mean is None else mean:.3f} | {100 * score['correct'] / done:.1f} % | "
            f"{100 * score['fast_1'] / done:.1f} % | {done} |"
        )

    same = {name: found for name, found in runs.items() if name.startswith(("aa-", "noop-"))}
    if same:
        print("\n| A/A | graphs | median ratio | within 2 % of 1 | interval covers 1 | half width | unstable |")
        print("|---|---|---|---|---|---|---|")
        for name, found in same.items():
            print(against_itself(name, found))
        print()
        for name, found in same.items():
            print(f"- Cost of an evaluation ({name}): {cost(found)}.")

    if found := runs.get("inductor-passbench"):
        ratios = [timing["speedup"]["ratio"] for timing in scored(found)]
        statuses = ", ".join(f"{count} {status}" for status, count in Counter(v["status"] for v in found).most_common())
        print(f"\n- TorchInductor on {len(found)} PassBench tasks, one graph each: {statuses}.")
        if ratios:
            mean = math.exp(statistics.mean(math.log(ratio) for ratio in ratios))
            slower = statistics.mean(ratio < 1 for ratio in ratios)
            print(f"  {mean:.3f} of eager (geometric mean over {len(ratios)}), slower on {100 * slower:.0f} %.")

    for bench in ("parse", "eval"):
        path = out / f"bench-{bench}.json"
        if path.exists():
            print(f"\n- `cargo xtask bench {bench}`: `{path.read_text().strip()}`")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
