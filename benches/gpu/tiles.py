"""Time of reductions whose rows are neighbours in memory, by block and warps: the measurement behind `plan/tile.rs`.

The kernels have the form of those that the author writes. Each is timed as the CUDA graph of as many calls as there are
copies of the data, which are larger than the cache together. One line of JSON for each shape. Run: `python benches/gpu/tiles.py [SECONDS]`.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def product(
    x, w, out, rows: tl.constexpr, columns: tl.constexpr, inner: tl.constexpr, high: tl.constexpr, wide: tl.constexpr
):
    """One row times a transposed matrix."""
    row = tl.program_id(0) * high + tl.arange(0, high)[:, None]
    inside_rows = row < rows
    total = tl.full((high, wide), 0.0, tl.float32)
    for start in range(0, columns, wide):
        column = start + tl.arange(0, wide)[None, :]
        left = tl.load(x + column, mask=column < columns, other=0.0).to(tl.float32)
        right = tl.load(w + (row + column * rows), mask=(column < columns) & inside_rows, other=0.0).to(tl.float32)
        total += left * right
    tl.store(out + row, tl.sum(total, 1, keep_dims=True), mask=inside_rows)


@triton.jit
def mean(
    x, w, out, rows: tl.constexpr, columns: tl.constexpr, inner: tl.constexpr, high: tl.constexpr, wide: tl.constexpr
):
    """The mean over the middle dimension of three."""
    row = tl.program_id(0) * high + tl.arange(0, high)[:, None]
    inside_rows = row < rows
    first = row % inner + row // inner * (inner * columns)
    total = tl.full((high, wide), 0.0, tl.float32)
    for start in range(0, columns, wide):
        column = start + tl.arange(0, wide)[None, :]
        total += tl.load(w + (first + column * inner), mask=(column < columns) & inside_rows, other=0.0)
    tl.store(out + row, tl.sum(total, 1, keep_dims=True) / columns, mask=inside_rows)


@triton.jit
def norm(
    x, w, out, rows: tl.constexpr, columns: tl.constexpr, inner: tl.constexpr, high: tl.constexpr, wide: tl.constexpr
):
    """A normalisation over the middle dimension of three."""
    row = tl.program_id(0) * high + tl.arange(0, high)[:, None]
    inside_rows = row < rows
    first = row % inner + row // inner * (inner * columns)
    if wide >= columns:
        column = tl.arange(0, wide)[None, :]
        inside = (column < columns) & inside_rows
        value = tl.load(w + (first + column * inner), mask=inside, other=0.0)
        value = tl.where(inside, value - tl.sum(value, 1, keep_dims=True) / columns, 0.0)
        variance = tl.sum(value * value, 1, keep_dims=True) / columns
        tl.store(out + (first + column * inner), value * tl.rsqrt(variance + 1e-6), mask=inside)
    else:
        total = tl.full((high, wide), 0.0, tl.float32)
        for start in range(0, columns, wide):
            column = start + tl.arange(0, wide)[None, :]
            total += tl.load(w + (first + column * inner), mask=(column < columns) & inside_rows, other=0.0)
        average = tl.sum(total, 1, keep_dims=True) / columns
        total = tl.full((high, wide), 0.0, tl.float32)
        for start in range(0, columns, wide):
            column = start + tl.arange(0, wide)[None, :]
            inside = (column < columns) & inside_rows
            value = tl.load(w + (first + column * inner), mask=inside, other=0.0)
            value = tl.where(inside, value - average, 0.0)
            total += value * value
        scale = tl.rsqrt(tl.sum(total, 1, keep_dims=True) / columns + 1e-6)
        for start in range(0, columns, wide):
            column = start + tl.arange(0, wide)[None, :]
            inside = (column < columns) & inside_rows
            value = tl.load(w + (first + column * inner), mask=inside, other=0.0)
            tl.store(out + (first + column * inner), (value - average) * scale, mask=inside)


# Kernel and its library call, with the sizes: batch, length of the sums, neighbours in memory.
SHAPES: list[tuple[Any, Callable[..., Any] | None, list[tuple[int, int, int]]]] = [
    (
        product,
        lambda x, w, shape: torch.mm(x.view(1, -1), w.view(shape[1], shape[2])),
        [
            (1, 512, 512),
            (1, 2048, 512),
            (1, 512, 1536),
            (1, 512, 2048),
            (1, 4096, 4096),
            (1, 512, 8000),
            (1, 4096, 1024),
        ],
    ),
    (
        mean,
        lambda x, w, shape: w.view(shape).mean(1),
        [(1, 196, 768), (8, 196, 768), (64, 196, 768), (1, 4096, 512), (2, 50, 1024), (256, 49, 2048), (1, 1024, 64)],
    ),
    (norm, None, [(1, 96, 3136), (1, 768, 49), (16, 192, 784), (64, 384, 196), (1, 32, 16384)]),
]
CACHE = 150_000_000


def main() -> None:
    end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 600)
    for kernel, library, shapes in SHAPES:
        for shape in shapes:
            print(json.dumps(measured(kernel, library, shape, end)), flush=True)


def measured(
    kernel: Any, library: Callable[..., Any] | None, shape: tuple[int, int, int], end: float
) -> dict[str, Any]:
    """Microseconds by `HIGHxWIDE`, rows and columns of a block, and warps, the fastest first; blocks after the end are left out."""
    batch, columns, inner = shape
    rows, dtype = batch * inner, torch.bfloat16 if kernel is product else torch.float32
    copies = max(2, min(48, CACHE // (rows * columns * dtype.itemsize)))
    data = [torch.randn(rows * columns, device="cuda").to(dtype) for _ in range(copies)]
    x = torch.randn(columns, device="cuda").to(dtype)
    out = torch.empty(rows * (columns if kernel is norm else 1), device="cuda")
    whole, times = triton.next_power_of_2(columns), {}
    for high, wide in itertools.product(
        (4, 8, 16, 32, 64), sorted({min(c, whole) for c in (64, 128, 256, 512, 1024, whole)})
    ):
        for warps in (4, 8) if 1024 <= high * wide <= 16384 and time.monotonic() < end else ():

            def launch(copy: int, high: int = high, wide: int = wide, warps: int = warps) -> None:
                grid = (triton.cdiv(rows, high),)
                kernel[grid](x, data[copy], out, rows, columns, inner, high, wide, num_warps=warps)

            times[f"{high}x{wide}, {warps} warps"] = round(timed(launch, copies), 2)
    return {
        "kernel": kernel.__name__,
        "shape": shape,
        "library_us": library and round(timed(lambda copy: library(x, data[copy], shape), copies), 2),
        "us": dict(sorted(times.items(), key=lambda item: item[1])),
    }


def timed(launch: Callable[[int], Any], copies: int) -> float:
    """Microseconds of one call, the best of four replays."""
    launch(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for copy in range(copies):
            launch(copy)
    best = float("inf")
    for _ in range(4):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(stop) * 1e3 / copies)
    return best


if __name__ == "__main__":
    main()
