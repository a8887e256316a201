"""Compares the times that the built-in author predicts with measured ones, and fits the constants of the prediction.

    passnet fuse SUITE --device cuda --out passes --explain --json >costs.json
    PYTHONPATH=python:python/tests python benches/predictions.py costs.json passes --device cuda --out rows.jsonl [--seconds 200]

Measures places of passes in random order, at most a few of each task: the fastest of up to 40 calls of the pattern and of the
replacement in turns, each with the wait for its end, and with the values in the cache. A CPU uses one thread. On a GPU, `--jobs`
processes first compile the kernels, which takes up to half of the time. Each row of the output has the costs, the predicted and
the measured times. `--rows rows.jsonl` reads rows instead of measuring.

Prints how far the predictions are off, the constants that fit the rows (`rates.py`), and how far those are off on rows to which
they were not fitted.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from rates import SIDES, as_text, fitted, predicted

from fused import arguments, load

Row = dict[str, Any]


def chosen(parts: list[Row], each: int) -> list[Row]:
    """Places in random order, at most `each` of a task, without places that are equal to another one of the same pass."""
    random.Random(1).shuffle(parts)
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    result = []
    for part in parts:
        key = json.dumps([part["task"], part["pass"], part["inputs"]])
        if key not in seen and counts[part["task"]] < each:
            seen.add(key)
            counts[part["task"]] += 1
            result.append(part)
    return result


def _fill(tensor: torch.Tensor) -> None:
    if tensor.dtype.is_floating_point:
        tensor.copy_(torch.rand(tensor.shape, device=tensor.device) + 0.25)
    else:
        tensor.copy_(torch.randint(0, 2, tensor.shape, device=tensor.device))


def _fits(key: tuple[Any, ...], inputs: list[Row]) -> bool:
    """Returns whether a row of `PLANS` has the shapes and types of a place."""
    dtypes = [str(part).removeprefix("torch.") for part in key if isinstance(part, torch.dtype)]
    shapes = [list(part) for place, part in enumerate(key) if isinstance(part, tuple) and not _is_stride(key, place)]
    return [given["dtype"] for given in inputs] == dtypes and [given["shape"] for given in inputs] == shapes


def _is_stride(key: tuple[Any, ...], place: int) -> bool:
    return place > 0 and isinstance(key[place - 1], tuple)


def calls(folder: Path, part: Row, device: str) -> tuple[Any, list[Any]] | None:
    """The module of a pass and arguments for one place; `None` if the pass has no plan for it."""
    device = "cuda:0" if device == "cuda" else device
    module = load(folder / part["task"] / f"{part['pass']}.py", device)
    found = (given for key, given in arguments(module, device, _fill, fits=lambda key: _fits(key, part["inputs"])))
    given = next(found, None)
    return None if given is None else (module, given)


def measured(module: Any, given: list[Any], device: str) -> tuple[int, int]:
    """The shortest time of the pattern and of the replacement in nanoseconds."""
    sides = [module.pattern, module.fused]
    shortest = [sys.maxsize, sys.maxsize]
    end = time.perf_counter() + 0.5
    for call in range(40):
        for side in (call % 2, 1 - call % 2):
            start = time.perf_counter_ns()
            sides[side](*given)
            if device == "cuda":
                torch.cuda.synchronize()
            shortest[side] = min(shortest[side], time.perf_counter_ns() - start)
        if call > 4 and time.perf_counter() > end:
            break
    return shortest[0], shortest[1]


def compile_share(folder: Path, parts: list[Row], device: str, share: str, end: float) -> None:
    """Calls the replacements of every n-th place, so that their kernels are in Triton's cache. `share` is `i/n`."""
    first, count = map(int, share.split("/"))
    for part in parts[first::count]:
        if time.time() > end:
            return
        try:
            found = calls(folder, part, device)
            if found is not None:
                found[0].fused(*found[1])
        except Exception as error:
            print(f"{part['task']}/{part['pass']}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


def compile_all(args: argparse.Namespace, seconds: float) -> None:
    shares = [f"{share}/{args.jobs}" for share in range(args.jobs)]
    command = [sys.executable, *sys.argv, "--end", str(time.time() + seconds), "--share"]
    for process in [subprocess.Popen([*command, share]) for share in shares]:
        process.wait()


def rows(folder: Path, parts: list[Row], device: str, end: float) -> Iterator[Row]:
    for part in parts:
        if time.time() > end:
            return
        try:
            found = calls(folder, part, device)
            if found is not None:
                eager, fused = measured(*found, device)
                yield {**part, "measured_eager_ns": eager, "measured_fused_ns": fused}
        except (IndexError, RuntimeError, ValueError) as error:
            # Indices of random content can be outside of their table.
            print(f"{part['task']}/{part['pass']}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


def summary(name: str, pairs: list[tuple[float, float]]) -> str:
    """The distance of predicted times from measured ones."""
    factors = sorted(max(a / b, b / a) for a, b in pairs)
    within = sum(factor <= 1.5 for factor in factors) / len(factors)
    median, late = statistics.median(factors), factors[int(0.9 * len(factors))]
    ratio = statistics.median(a / b for a, b in pairs)
    return (
        f"{name}: {median:.2f} times off at the median, {late:.2f} at the 90th percentile, {within:.0%} within 1.5 times, "
        f"predicted / measured {ratio:.2f}"
    )


def report(found: list[Row], rates: Row) -> None:
    def print_errors(title: str, tested: list[Row], with_rates: Row) -> None:
        for side in SIDES:
            pairs = [(predicted(with_rates, side, row[side]), float(row[f"measured_{side}_ns"])) for row in tested]
            print(summary(f"{title}, {side}, {len(pairs)} places", pairs))
        gains = [
            (
                predicted(with_rates, "eager", row["eager"]) / predicted(with_rates, "fused", row["fused"]),
                row["measured_eager_ns"] / row["measured_fused_ns"],
            )
            for row in tested
        ]
        print(summary(f"{title}, speed-up", gains))
        slower = [(mine, theirs) for mine, theirs in gains if theirs < 0.97]
        for margin in (1.0, 1.1, 1.25):
            left = [theirs for mine, theirs in gains if mine < margin]
            caught = sum(mine < margin for mine, _ in slower)
            print(
                f"  predicted below {margin}: {len(left)} places, {caught} of the {len(slower)} that are slower than 0.97"
            )

    print_errors("as predicted", found, rates)
    tasks = sorted({row["task"] for row in found})
    random.Random(2).shuffle(tasks)
    # Places of one task are alike, so whole tasks are held out.
    held = set(tasks[: len(tasks) // 3])
    halves = [[row for row in found if (row["task"] in held) == is_held] for is_held in (False, True)]
    if all(halves):
        print_errors("fitted to other tasks", halves[1], fitted(rates, halves[0]))
    best = fitted(rates, found)
    print_errors("fitted", found, best)
    print(as_text(best))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("costs", type=Path, help="output of `passnet fuse --explain --json`")
    parser.add_argument("folder", type=Path, help="pass directories")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--out", type=Path, help="file for the rows")
    parser.add_argument("--rows", type=Path, help="rows of an earlier call")
    parser.add_argument("--each", type=int, default=8, help="at most so many places of a task")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--end", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    costs = json.loads(args.costs.read_text())
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    end = time.time() + args.seconds
    parts = chosen([{"task": task["task"], **part} for task in costs["tasks"] for part in task["parts"]], args.each)
    if args.share:
        compile_share(args.folder, parts, args.device, args.share, args.end)
        return
    if args.rows:
        found = [json.loads(line) for line in args.rows.read_text().splitlines()]
    else:
        if args.jobs > 1:
            compile_all(args, args.seconds / 2)
        found = []
        for row in rows(args.folder, parts, args.device, end):
            found.append(row)
            if args.out:
                with args.out.open("w" if len(found) == 1 else "a") as file:
                    file.write(json.dumps(row) + "\n")
    print(f"{len(found)} of {len(parts)} places")
    report(found, costs["rates"])


if __name__ == "__main__":
    main()
