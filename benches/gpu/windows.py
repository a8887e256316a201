"""Time of kernels with windows, by block: depthwise convolutions and pooling. This is the measurement behind the blocks in `plan/tile.rs`.

The kernels have the form of those that the author writes, with 128 threads. Each is timed as the CUDA graph of several calls. One
line of JSON for each shape and form, with the block that the author chose before, and for each block the microseconds of a call and
the seconds of the compilation (on a busy core). Run: `python benches/gpu/windows.py [PROCESSES]`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time

import torch
import triton
import triton.language as tl

# Batch, channels, height and width of the image, size of the window, step.
SHAPES = (
    (1, 96, 56, 7, 1),
    (1, 192, 28, 7, 1),
    (1, 384, 14, 7, 1),
    (1, 768, 7, 7, 1),
    (8, 384, 14, 7, 1),
    (2, 32, 112, 3, 1),
    (2, 96, 112, 3, 2),
    (2, 144, 56, 3, 1),
    (2, 576, 14, 3, 1),
    (2, 960, 7, 3, 1),
    (2, 240, 28, 5, 1),
    (2, 672, 14, 5, 1),
    (2, 1152, 7, 5, 1),
    (16, 240, 28, 5, 1),
    (16, 32, 112, 3, 1),
    (16, 96, 112, 3, 2),
    (16, 576, 14, 3, 1),
    (16, 960, 7, 3, 1),
)
# Elements of a program.
BLOCKS = (128, 256, 512, 1024)
THREADS = 128
CALLS = 20
LOADED_PER_THREAD = 176


@triton.jit
def convolution(
    x, w, b, out, planes: tl.constexpr, channels: tl.constexpr, size: tl.constexpr, to: tl.constexpr,
    window: tl.constexpr, step: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < planes * to * to
    plane, row, column = i // (to * to), i // to % to, i % to
    channel = plane % channels
    total = tl.load(b + channel, inside, 0)
    for down in tl.static_range(window):
        for across in tl.static_range(window):
            y, z = row * step + (down - window // 2), column * step + (across - window // 2)
            here = inside & (y >= 0) & (y < size) & (z >= 0) & (z < size)
            value = tl.load(x + (plane * (size * size) + y * size + z), here, 0)
            weight = tl.load(w + (channel * (window * window) + (down * window + across)), here, 0)
            total = total + value * weight
    tl.store(out + i, tl.maximum(total, 0.0), inside)


@triton.jit
def pool(
    x, w, b, out, planes: tl.constexpr, channels: tl.constexpr, size: tl.constexpr, to: tl.constexpr,
    window: tl.constexpr, step: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < planes * to * to
    plane, row, column = i // (to * to), i // to % to, i % to
    total = tl.full((block,), float("-inf"), tl.float32)
    for down in tl.static_range(window):
        for across in tl.static_range(window):
            y, z = row * step + (down - window // 2), column * step + (across - window // 2)
            here = inside & (y >= 0) & (y < size) & (z >= 0) & (z < size)
            value = tl.load(x + (plane * (size * size) + y * size + z), here, float("-inf"))
            total = tl.maximum(total, value)
    tl.store(out + i, total, inside)


FORMS = {"convolution": convolution, "pool": pool}


def block_before(form: str, shape: tuple[int, ...]) -> int:
    """The block of the author without a rule for windows."""
    loads = shape[3] ** 2 * 2 + 1 if form == "convolution" else shape[3] ** 2
    per_thread = min(8, max(1, power(LOADED_PER_THREAD // loads)))
    return min(THREADS * per_thread, max(THREADS, power(numel(shape) // 264)))


def numel(shape: tuple[int, ...]) -> int:
    """The number of elements of the result."""
    batch, channels, size, _, step = shape
    return batch * channels * (-(-size // step)) ** 2


def power(value: int) -> int:
    """The largest power of two that is not above a value."""
    return 1 << max(value, 1).bit_length() - 1


def sizes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes that a kernel takes before its block."""
    batch, channels, size, window, step = shape
    return batch * channels, channels, size, -(-size // step), window, step


def compiled(task: tuple[str, tuple[int, ...], int]) -> float:
    """Compiles a kernel into the cache on disk. Returns the seconds."""
    form, shape, block = task
    begin = time.perf_counter()
    FORMS[form].warmup(*[torch.float32] * 4, *sizes(shape), block, grid=(1,), num_warps=THREADS // 32)
    return time.perf_counter() - begin


def timed(form: str, shape: tuple[int, ...], block: int) -> float:
    """Microseconds of a call, the median of 15 graphs of several calls. Raises `AssertionError` if the result is wrong."""
    batch, channels, size, window, step = shape
    x = torch.randn(batch, channels, size, size, device="cuda")
    w, b = torch.randn(channels, 1, window, window, device="cuda"), torch.randn(channels, device="cuda")
    if form == "pool":
        expected = torch.max_pool2d(x, window, step, window // 2)
    else:
        expected = torch.relu(torch.conv2d(x, w, b, step, window // 2, 1, channels))
    out = torch.empty_like(expected)

    def call() -> None:
        programs = -(-numel(shape) // block)
        FORMS[form][(programs,)](x, w, b, out, *sizes(shape), block, num_warps=THREADS // 32)

    call()
    assert torch.allclose(out, expected, atol=1e-4), (form, shape, block)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(15):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / CALLS)
    return sorted(times)[7]


def main() -> None:
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else len(os.sched_getaffinity(0))
    cases = [(form, shape) for form in FORMS for shape in SHAPES if form == "convolution" or shape[3] < 7]
    tasks = [(*case, block) for case in cases for block in BLOCKS]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        seconds = dict(zip(tasks, pool.map(compiled, tasks, chunksize=1), strict=True))
    for form, shape in cases:
        found = {
            block: [round(timed(form, shape, block), 2), round(seconds[form, shape, block], 2)] for block in BLOCKS
        }
        line = {"form": form, "shape": shape, "before": block_before(form, shape), "us_and_compile_s": found}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
