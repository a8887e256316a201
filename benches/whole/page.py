"""The rows of `benches/gpu/whole_models.py` as a table in Markdown, and as one evaluation log for each side.

    python -m whole.page ROWS OUT

`passnet plot OUT/*.log --out FIGURES` draws S(t), ES(t) and the speed-ups from the logs, which have the form of GraphNet's harness.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from whole.tolerances import STEPS, TOLERANCES, tolerance

Row = dict[str, Any]
PROMPT = "graph-net-test-compiler-log"
BEST_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# A result is wrong if its distance from float64 is more than twice that of eager mode and more than this.
WRONG = {"float32": 1e-3, "bfloat16": 5e-2, "float16": 1e-2}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.rows.read_text().splitlines() if line.endswith("}")]
    arguments.out.mkdir(parents=True, exist_ok=True)
    parts = []
    for weights in ("static", "inputs"):
        chosen = [row for row in rows if row.get("weights") == weights]
        if not chosen:
            continue
        parts.append(page(chosen, weights))
        for side in _sides(chosen):
            log = "\n".join(line for row in chosen if row["side"] == side for line in log_lines(row))
            (arguments.out / f"{weights}-{side.replace(' ', '-')}.log").write_text(log + "\n")
    (arguments.out / "table.md").write_text("\n\n".join(parts) + "\n")
    print("\n\n".join(parts))


def page(rows: Sequence[Row], weights: str) -> str:
    """Speed-ups by model, then means, times to compile, memory, and what is wrong or slow."""
    sides = _sides(rows)
    by_model: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["side"]] = row
    lines = [f"Weights: {weights}. Speed-up over eager mode in the same process.", ""]
    lines += [f"| model | eager, us | {' | '.join(sides)} |", "|---" * (len(sides) + 2) + "|"]
    for model, found in sorted(by_model.items()):
        eager = statistics.median([row["eager_us"] for row in found.values() if "us" in row] or [math.nan])
        best = max((_speedup(row) for row in found.values() if "us" in row), default=0.0)
        cells = [_cell(found.get(side), best) for side in sides]
        lines.append(f"| {model} | {eager:.0f} | {' | '.join(cells)} |")
    complete = [
        found for found in by_model.values() if all("us" in found.get(side, {}) for side in _common(sides, by_model))
    ]
    return "\n".join([*lines, "", *_summary(complete, sides, by_model)])


def _sides(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["side"] for row in rows))


def _common(sides: Sequence[str], by_model: dict[str, dict[str, Row]]) -> list[str]:
    """Sides that most models have a figure for; those that tune have few."""
    return [
        side for side in sides if sum("us" in found.get(side, {}) for found in by_model.values()) * 2 > len(by_model)
    ]


def _speedup(row: Row) -> float:
    return row["eager_us"] / row["us"]


def _cell(row: Row | None, best: float) -> str:
    if row is None:
        return ""
    if "us" not in row:
        return "failed" if "not done" not in row.get("failed", "") else "no time"
    value = f"{_speedup(row):.2f}"
    value = f"**{value}**" if _speedup(row) == best else value
    return value + (", wrong" if is_wrong(row) else "")


def is_wrong(row: Row) -> bool:
    """Returns whether results are further from float64 than eager mode's by more than roundings explain; without float64, from eager mode's."""
    if row.get("fault") or row.get("error", 0) is None or row.get("after", 0) is None:
        return True
    most = max(WRONG.get(dtype, 0.0) for dtype in row["dtypes"]) if row.get("dtypes") else 0.0
    if row.get("eager_error64") is None:
        return row["error"] > most
    return row["error64"] is None or row["error64"] > max(most, 2 * row["eager_error64"])


def _summary(
    complete: Sequence[dict[str, Row]], sides: Sequence[str], by_model: dict[str, dict[str, Row]]
) -> list[str]:
    common = _common(sides, by_model)
    lines = [f"{len(by_model)} models, {len(complete)} with all of: {', '.join(common)}.", ""]
    header = (
        "geometric mean",
        "compile, s: median",
        "peak MiB over eager: mean ratio",
        "slower than 0.98",
        "wrong",
        "failed",
    )
    lines += [f"| side | {' | '.join(header)} |", "|---" * (len(header) + 1) + "|"]
    for side in sides:
        rows = [found[side] for found in by_model.values() if side in found]
        good = [row for row in rows if "us" in row]
        means = [found[side] for found in complete] if side in common else good
        memory = [row["peak_mib"] / row["eager_peak_mib"] for row in good if row.get("peak_mib")]
        cells = [
            f"{_mean([_speedup(row) for row in means]):.3f}" if means else "",
            f"{statistics.median([row['compile_s'] for row in good]):.1f}" if good else "",
            f"{_mean(memory):.2f}" if memory else "",
            f"{sum(_speedup(row) < 0.98 for row in good)}",
            f"{sum(is_wrong(row) for row in good)}",
            f"{len(rows) - len(good)}",
        ]
        lines.append(f"| {side} | {' | '.join(cells)} |")
    return [*lines, "", *_bars(complete)]


def _bars(complete: Sequence[dict[str, Row]]) -> list[str]:
    lines = []
    for side in ("passnet+graphs", "passnet frozen+graphs"):
        pairs = [
            (found[side], [found[mode] for mode in BEST_MODES if "us" in found.get(mode, {})])
            for found in complete
            if side in found
        ]
        pairs = [(row, modes) for row, modes in pairs if modes]
        if not pairs:
            continue
        ratio = _mean([min(mode["us"] / mode["eager_us"] for mode in modes) * _speedup(row) for row, modes in pairs])
        lines.append(f"- {side} against the best mode of each model: {ratio:.3f} ({len(pairs)} models).")
    cold = [(f["passnet+graphs"], f["default"]) for f in complete if {"passnet+graphs", "default"} <= f.keys()]
    if cold:
        ratio = _mean([ours["compile_s"] / theirs["compile_s"] for ours, theirs in cold])
        lines.append(f"- Time to compile without a cache, passnet+graphs over default: {ratio:.3f}.")
    return lines


def _mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values)) if values else math.nan


def log_lines(row: Row) -> list[str]:
    """A row as GraphNet's harness prints it."""
    lines = [
        f"{PROMPT} [Processing] {row['model']}",
        f"{PROMPT} [Config] model: {row['model']}",
        f"{PROMPT} [Config] compiler: {row['side'].replace(' ', '-')}",
    ]
    if "dtypes" not in row:
        # Eager mode ran: what failed is the compiler.
        return [*lines, f"{PROMPT} [Datatype][eager]: float32", f"{PROMPT} [Result] status: failed"]
    dtypes = row["dtypes"]
    lines += [f"{PROMPT} [Datatype][{side}]: {' '.join(dtypes)}" for side in ("eager", "compiled")]
    lines += [f"{PROMPT} [DataType] match:True", f"{PROMPT} [Correctness][equal]: {_flags(row['equal'])}"]
    seen: set[str] = set()
    for t in TOLERANCES:
        for name in dict.fromkeys(dtypes):
            if name not in STEPS:
                continue
            rtol, atol = tolerance(name, t)
            key = f"all_close_atol_{atol:.2E}_rtol_{rtol:.2E}"
            if key in seen:
                continue
            seen.add(key)
            met = [first is not None and first <= t for first in row["close_from"]]
            lines.append(f"{PROMPT} [Correctness][{key}]: {_flags(met)}")
    return [*lines, f"{PROMPT} [Result] status: success", f"{PROMPT} [Speedup][e2e]: {_speedup(row):.5f}"]


def _flags(values: Iterable[bool]) -> str:
    return " ".join(str(int(value)) for value in values)


if __name__ == "__main__":
    main()
