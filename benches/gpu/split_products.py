"""Products of few rows and long sums in Triton: in one launch, and split into parts that a second launch adds up.

    python benches/gpu/split_products.py OUT.jsonl [SECONDS]

Needs a CUDA device. The result is `relu(x @ w.T)`. Each line is one shape and type: the time of PyTorch's two calls, of the best
tile in one launch, and of each number of parts with its best tile; and the largest error of each next to float64. `device_us` is
one product among twenty in a CUDA graph, `call_us` one product and the wait for its end, the median of 100. Both launches are
made without Triton's own look-up of arguments, as those of a prepared pass are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from products import device_us, host_us

from passnet import kernels

# Rows, columns, terms.
SHAPES = [
    (8, 256, 2048),
    (8, 1024, 4096),
    (16, 256, 1024),
    (16, 768, 3072),
    (16, 512, 8192),
    (32, 64, 2048),
    (32, 256, 4096),
    (32, 512, 2048),
    (49, 256, 1024),
    (49, 512, 2048),
    (64, 64, 1024),
    (64, 256, 4096),
    (64, 768, 3072),
    (128, 128, 2048),
    (128, 256, 8192),
]
TILES = [(16, 16), (16, 32), (32, 32), (32, 64), (64, 32), (64, 64)]
PARTS = [1, 2, 4, 8, 16]
# Terms of each step of the loop.
STEP = {torch.bfloat16: 128, torch.float32: 32}
# Elements of a program of the second launch.
ADDED = 256


@kernels.triton
@triton.jit
def product(
    a,
    b,
    out,
    rows: tl.constexpr,
    columns: tl.constexpr,
    terms: tl.constexpr,
    parts: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
    step: tl.constexpr,
    precision: tl.constexpr,
):
    """The sum of each part of the terms, of a type that `out` has; with `relu`, if there is one part."""
    across: tl.constexpr = (columns + block_columns - 1) // block_columns
    tiles: tl.constexpr = across * ((rows + block_rows - 1) // block_rows)
    length: tl.constexpr = terms // parts
    part = tl.program_id(0) // tiles
    place = tl.program_id(0) % tiles
    row = place // across * block_rows + tl.arange(0, block_rows)[:, None]
    column = place % across * block_columns + tl.arange(0, block_columns)[None, :]
    total = tl.zeros((block_rows, block_columns), tl.float32)
    for start in range(0, length, step):
        left = part * length + start + tl.arange(0, step)[None, :]
        right = part * length + start + tl.arange(0, step)[:, None]
        x = tl.load(a + row * terms + left, row < rows, 0)
        y = tl.load(b + column * terms + right, column < columns, 0)
        total = tl.dot(x, y, total, input_precision=precision)
    if parts == 1:
        total = tl.maximum(total, 0.0)
    inside = (row < rows) & (column < columns)
    tl.store(out + part * (rows * columns) + row * columns + column, total.to(out.dtype.element_ty), inside)


@kernels.triton
@triton.jit
def added(parts_of, out, count: tl.constexpr, parts: tl.constexpr, block: tl.constexpr):
    """Adds the parts in their order, and applies `relu`."""
    place = tl.program_id(0) * block + tl.arange(0, block)
    total = tl.zeros((block,), tl.float32)
    for part in tl.static_range(parts):
        total += tl.load(parts_of + part * count + place, place < count, 0.0)
    tl.store(out + place, tl.maximum(total, 0.0).to(out.dtype.element_ty), place < count)


def replacement(
    shape: tuple[int, int, int], parts: int, tile: tuple[int, int], step: int, precision: str
) -> Callable[..., Any]:
    rows, columns, terms = shape
    block_rows, block_columns = tile
    grid = (parts * triton.cdiv(rows, block_rows) * triton.cdiv(columns, block_columns),)

    @kernels.prepared
    def call(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
        sizes = (rows, columns, terms, parts, block_rows, block_columns, step, precision)
        if parts == 1:
            product[grid](x, w, out, *sizes, num_warps=4)
            return out
        sums = torch.empty((parts, rows, columns), dtype=torch.float32, device=x.device)
        product[grid](x, w, sums, *sizes, num_warps=4)
        added[(triton.cdiv(rows * columns, ADDED),)](sums, out, rows * columns, parts, ADDED, num_warps=4)
        return out

    return call


def measure(shape: tuple[int, int, int], dtype: torch.dtype) -> dict[str, object]:
    rows, columns, terms = shape
    x = torch.randn(rows, terms, device="cuda").to(dtype)
    w = torch.randn(columns, terms, device="cuda").to(dtype)
    exact = torch.relu(x.double() @ w.double().T)

    def timed(call: Callable[[], torch.Tensor]) -> dict[str, float]:
        error = float((call().double() - exact).abs().max())
        return {"device_us": round(device_us(call), 2), "call_us": round(host_us(call), 2), "error": error}

    line: dict[str, object] = {"shape": shape, "dtype": str(dtype).removeprefix("torch.")}
    line["torch"] = timed(lambda: torch.relu(torch.nn.functional.linear(x, w)))
    step, precision = STEP[dtype], "ieee" if dtype == torch.bfloat16 else "tf32x3"
    for parts in PARTS:
        if terms // parts % step:
            continue
        tried = {}
        for tile in TILES:
            if tile[0] > 2 * max(rows, 16):
                continue
            call = replacement(shape, parts, tile, step, precision)
            try:
                tried[f"{tile[0]}x{tile[1]}"] = timed(lambda call=call: call(x, w))
            except Exception as error:  # A tile that does not fit is no tile for this shape.
                print(f"{shape} {dtype} {parts} {tile}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        if tried:
            best = min(tried, key=lambda tile: tried[tile]["device_us"])
            line[f"parts_{parts}"] = {"tile": best, **tried[best]}
    return line


def main(place: str, seconds: str = "120") -> None:
    end = time.monotonic() + float(seconds)
    torch.set_grad_enabled(False)
    with Path(place).open("w") as file:
        header = {"schema_version": 1, "device": torch.cuda.get_device_name(), "torch": torch.__version__}
        file.write(json.dumps({**header, "triton": triton.__version__}) + "\n")
        for dtype in STEP:
            for shape in SHAPES:
                if time.monotonic() < end:
                    line = json.dumps(measure(shape, dtype))
                    print(line, flush=True)
                    file.write(line + "\n")
                    file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
