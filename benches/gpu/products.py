"""Matrix products in Triton next to PyTorch's, by shape, type and tile: device time, and how many elements are equal to the last bit.

    python benches/gpu/products.py OUT.jsonl [SECONDS [TYPE]]

Needs a CUDA device. Each line is one shape and type: time of PyTorch, time of each tile (rows, columns, terms of a step, warps,
stages), and the share of the elements that are PyTorch's. Times are of one product among twenty in a CUDA graph, in
microseconds, the median of eleven replays. The limits of the built-in author (`front::lower::product`) and the rule of equal sums
(`plan::precision`) come from them.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import triton
import triton.language as tl

CALLS = 20
# Batch, rows, columns, terms.
SHAPES = [
    (1, 1, 1000, 512),
    (1, 1, 768, 3072),
    (1, 8, 256, 1024),
    (1, 32, 64, 16),
    (1, 49, 256, 256),
    (1, 64, 256, 1024),
    (1, 197, 768, 768),
    (1, 197, 3072, 768),
    (1, 197, 768, 3072),
    (1, 512, 128, 128),
    (1, 1024, 1024, 1024),
    (1, 4096, 256, 256),
    (1, 16384, 64, 64),
    (1, 8192, 512, 512),
    (12, 197, 197, 64),
    (12, 197, 64, 197),
    (64, 49, 49, 32),
    (24, 128, 400, 400),
    (8, 1, 32, 1),
    (2, 256, 16, 4096),
]
TILES = [
    (16, 16, 128, 4, 3),
    (16, 32, 128, 4, 3),
    (16, 64, 64, 4, 4),
    (32, 32, 64, 4, 4),
    (32, 64, 64, 4, 4),
    (64, 32, 64, 4, 4),
    (64, 64, 32, 4, 4),
    (64, 64, 64, 4, 4),
    (64, 128, 64, 4, 3),
    (128, 64, 64, 4, 3),
    (128, 128, 64, 8, 3),
]


@triton.jit
def product(
    a,
    b,
    out,
    rows: tl.constexpr,
    columns: tl.constexpr,
    terms: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
    block_terms: tl.constexpr,
    precision: tl.constexpr,
):
    """`out = a @ b.T` for each batch; all are row-major."""
    across: tl.constexpr = (columns + block_columns - 1) // block_columns
    tiles: tl.constexpr = across * ((rows + block_rows - 1) // block_rows)
    batch = tl.program_id(0) // tiles
    place = tl.program_id(0) % tiles
    row = place // across * block_rows + tl.arange(0, block_rows)[:, None]
    column = place % across * block_columns + tl.arange(0, block_columns)[None, :]
    total = tl.zeros((block_rows, block_columns), tl.float32)
    for start in range(0, terms, block_terms):
        left = start + tl.arange(0, block_terms)[None, :]
        right = start + tl.arange(0, block_terms)[:, None]
        x = tl.load(a + batch * (rows * terms) + row * terms + left, (row < rows) & (left < terms), 0)
        y = tl.load(b + batch * (columns * terms) + column * terms + right, (column < columns) & (right < terms), 0)
        total = tl.dot(x, y, total, input_precision=precision)
    inside = (row < rows) & (column < columns)
    tl.store(out + batch * (rows * columns) + row * columns + column, total.to(out.dtype.element_ty), inside)


def device_us(call: Callable[[], object]) -> float:
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(11):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000 / CALLS)
    return statistics.median(times)


def host_us(call: Callable[[], object]) -> float:
    """One call and the wait for its end, as a graph of one operation is measured."""
    times = []
    for _ in range(100):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        call()
        torch.cuda.synchronize()
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


def measure(shape: tuple[int, int, int, int], dtype: torch.dtype) -> dict[str, object]:
    batch, rows, columns, terms = shape
    a = torch.randn(batch, rows, terms, device="cuda").to(dtype)
    b = torch.randn(batch, columns, terms, device="cuda").to(dtype)
    theirs = a @ b.mT
    exact = a.double() @ b.double().mT
    line: dict[str, object] = {"shape": shape, "dtype": str(dtype).removeprefix("torch.")}
    line["torch_us"] = round(device_us(lambda: torch.matmul(a, b.mT)), 2)
    line["torch_call_us"] = round(host_us(lambda: torch.matmul(a, b.mT)), 2)
    line["torch_error"] = float((theirs.double() - exact).abs().max())
    tiles = {}
    for block_rows, block_columns, block_terms, warps, stages in TILES:
        is_wide = block_rows * block_columns > 64 * 64
        if (block_rows > 2 * max(rows, 16)) or (block_columns > 2 * max(columns, 16)):
            continue
        if dtype == torch.float32 and (is_wide or block_terms > 64):
            continue
        step = block_terms if dtype != torch.float32 else 32
        out = torch.empty(batch, rows, columns, device="cuda", dtype=dtype)
        grid = (batch * triton.cdiv(rows, block_rows) * triton.cdiv(columns, block_columns),)
        precision = "tf32x3" if dtype == torch.float32 else "ieee"
        arguments = (a, b, out, rows, columns, terms, block_rows, block_columns, step, precision)

        def call(grid=grid, arguments=arguments, warps=warps, stages=stages) -> None:
            product[grid](*arguments, num_warps=warps, num_stages=stages)

        try:
            us = device_us(call)
        except Exception as error:  # A tile that does not fit into shared memory is no tile for this shape.
            tiles[f"{block_rows}x{block_columns}x{step}"] = {"error": type(error).__name__}
            continue
        tiles[f"{block_rows}x{block_columns}x{step}"] = {
            "us": round(us, 2),
            "equal": round(float((out == theirs).double().mean()), 6),
            "error": float((out.double() - exact).abs().max()),
        }
    line["tiles"] = tiles
    return line


def main(place: str, seconds: str = "60", wanted: str = "bfloat16 float16 float32") -> None:
    end = time.monotonic() + float(seconds)
    with Path(place).open("w") as file:
        header = {"schema_version": 1, "device": torch.cuda.get_device_name(), "torch": torch.__version__}
        file.write(json.dumps({**header, "triton": triton.__version__}) + "\n")
        for shape in SHAPES:
            for name in wanted.split():
                if time.monotonic() < end:
                    file.write(json.dumps(measure(shape, getattr(torch, name))) + "\n")
                    file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
