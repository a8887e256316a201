"""Compares the times that the built-in author predicts for a CPU with measured ones.

    passnet fuse suites/demo --out passes
    PYTHONPATH=python:python/tests python benches/cpu/predictions.py passes [--passes 300]

For the graph of each pass that its description is of, on one thread: the fastest of 40 calls of its pattern and of its replacement, with the values in
the cache. Prints the median factor between predicted and measured times, the share within 1.5 times, and the passes that are
slower than eager mode.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from fused import arguments, load

_GAIN = re.compile(r"([\d.]+)\s+us\s+instead\s+of\s+([\d.]+)\s+us")


def fastest(function: Callable[..., Any], given: list[Any]) -> float:
    """The shortest of 40 calls in microseconds; of fewer where these take longer than half a second."""
    shortest, end = float("inf"), time.perf_counter() + 0.5
    for call in range(40):
        start = time.perf_counter_ns()
        function(*given)
        shortest = min(shortest, (time.perf_counter_ns() - start) / 1e3)
        if call > 4 and time.perf_counter() > end:
            break
    return shortest


def _fill(tensor: torch.Tensor) -> None:
    if tensor.dtype.is_floating_point:
        tensor.copy_(torch.rand(tensor.shape) + 0.25)
    else:
        tensor.copy_(torch.randint(0, 2, tensor.shape))


def _described(text: str, key: tuple[Any, ...]) -> bool:
    """Returns whether a row of `PLANS` has the types of the description."""
    described = "".join(text.split('"""')[1].split("->")[0].split())
    types = [tuple(found) for found in re.findall(r"((?:float|bfloat|u?int|bool)\d*)\[([\d,]*)\]", described)]
    dtypes = [str(part).removeprefix("torch.") for part in key if isinstance(part, torch.dtype)]
    shapes = [part for place, part in enumerate(key) if isinstance(part, tuple) and not _is_stride(key, place)]
    return types == [(dtype, ",".join(map(str, shape))) for dtype, shape in zip(dtypes, shapes, strict=False)]


def _is_stride(key: tuple[Any, ...], place: int) -> bool:
    return place > 0 and isinstance(key[place - 1], tuple)


def summary(name: str, pairs: list[tuple[float, float]]) -> str:
    """The distance of predicted times from measured ones."""
    factors = sorted(max(a / b, b / a) for a, b in pairs)
    within = sum(factor <= 1.5 for factor in factors) / len(factors)
    median, late = statistics.median(factors), factors[int(0.9 * len(factors))]
    return f"{name}: {median:.2f} times off at the median, {late:.2f} at the 90th percentile, {within:.0%} within 1.5 times"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="pass directories")
    parser.add_argument("--passes", type=int, default=300, help="at most so many")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    files = sorted(args.folder.glob("**/fuse_*.py"))
    random.Random(1).shuffle(files)
    times: list[tuple[float, float, float, float, Path]] = []
    for path in files[: args.passes]:
        predicted = _GAIN.search(path.read_text())
        if predicted is None:
            continue
        module, text = load(path, "cpu"), path.read_text()
        given = next((made for key, made in arguments(module, "cpu", _fill) if _described(text, key)), None)
        if given is None:
            continue
        try:
            eager, mine = fastest(module.pattern, given), fastest(module.fused, given)
        except (IndexError, RuntimeError):  # Indices of random content are outside of their table.
            continue
        times.append((float(predicted[2]), eager, float(predicted[1]), mine, path))
    print(summary(f"eager mode, {len(times)} passes", [(predicted, eager) for predicted, eager, *_ in times]))
    print(summary("kernels", [(predicted, mine) for _, _, predicted, mine, _ in times]))
    for _, eager, _, mine, path in sorted(times, key=lambda row: row[1] / row[3]):
        if eager < mine:
            print(f"{eager / mine:.2f} times as fast as eager mode, {mine:.1f} us: {path}")


if __name__ == "__main__":
    main()
