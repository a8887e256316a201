"""Timed calls on a device: contents, and memory that calls allocate and release. On a CUDA device where there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from passnet._monitor import allocations
from passnet._passes.trace import trace_pattern as trace
from passnet._worker import device_pool
from server import Worker

WritePasses = Callable[..., Path]
DEVICES = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]

SCRATCH = """
import torch
import triton
import triton.language as tl


def pattern(x):
    return torch.sin(x), torch.cos(x)


def replacement_args(x):
    return (x,)


@triton.jit
def leave(x_ptr, scratch_ptr, before_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(before_ptr + i, tl.load(scratch_ptr + i, mask=mask), mask=mask)
    tl.store(scratch_ptr + i, 7.0, mask=mask)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask), mask=mask)


def scratch(x):
    out, before, left = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    leave[(triton.cdiv(x.numel(), 1024),)](x, left, before, out, x.numel(), BLOCK=1024)
    return out, before


def replacement_func():
    return scratch
"""


@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device; test_worker_timing.py does it on the CPU"
)
@pytest.mark.parametrize("count", [1000, 1 << 20])
def test_what_a_call_releases_is_overwritten(worker: Worker, write_passes: WritePasses, count: int):
    directory = write_passes(scratch=SCRATCH)
    pattern = trace(lambda x: (torch.sin(x), torch.cos(x)))
    loaded = worker.load(pattern, device="cuda:0", kind="passes", dir=str(directory), compiled=False)
    assert loaded["type"] == "loaded" and loaded["passes"][0]["matches"] == 1, loaded
    x = torch.ones(count)
    worker.inputs(0, x=x)
    assert worker.call(poison=True)["type"] == "outputs"
    worker.pools(x=x)
    seen = {}
    for overwrite in (True, False):
        timed = worker.time(warmup=3, trials=1, overwrite=overwrite)
        assert timed["type"] == "timed", timed
        _, before = worker.outputs(worker.request("fetch"))
        seen[overwrite] = bool((before == 7).any())
    if not seen[False]:
        pytest.skip("the allocator returned other blocks: the test shows nothing")
    assert not seen[True]


MARKS = """
import torch

from passnet import kernels


def pattern(x):
    return torch.sin(x), torch.cos(x)


def replacement_args(x):
    return (x,)


SOURCE = '''
__global__ void leave(const float* x, float* out, float* before, int64_t n) {
    MEMORY volatile int left[SIZE];
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    // The place is not known to the compiler, so the array is in memory.
    const int64_t place = SIZE - 2 + x[0];
    const int found = left[place];
    __syncthreads();
    left[place] = 1234567;
    if (i < n) {
        out[i] = x[i];
        before[i] = found == 1234567 ? 7.0f : 0.0f;
    }
}
'''
leave = kernels.cuda(SOURCE, "void leave(const float* x, float* out, float* before, int64_t n)")


def scratch(x):
    out, before = torch.empty_like(x), torch.empty_like(x)
    leave[((x.numel() + 255) // 256,), (256,)](x, out, before, x.numel())
    return out, before


def replacement_func():
    return scratch
"""


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
# One block, and several blocks for each multiprocessor.
@pytest.mark.parametrize("count", [256, 1 << 18])
# Shared memory, and stacks below and above the size that is always overwritten.
@pytest.mark.parametrize(("memory", "size"), [("__shared__", 8192), ("", 64), ("", 1000)])
def test_memory_of_threads_is_overwritten(
    worker: Worker, write_passes: WritePasses, memory: str, size: int, count: int
):
    directory = write_passes(scratch=MARKS.replace("MEMORY", memory).replace("SIZE", str(size)))
    pattern = trace(lambda x: (torch.sin(x), torch.cos(x)))
    loaded = worker.load(pattern, device="cuda:0", kind="passes", dir=str(directory), compiled=False)
    assert loaded["type"] == "loaded" and loaded["passes"][0]["matches"] == 1, loaded
    worker.pools(x=torch.ones(count))
    seen = {True: 0, False: 0}
    for _ in range(8):
        for overwrite in seen:
            timed = worker.time(warmup=3, trials=1, overwrite=overwrite)
            assert timed["type"] == "timed", timed
            _, before = worker.outputs(worker.request("fetch"))
            # Blocks that follow others on the same multiprocessor find what these left.
            seen[overwrite] += int((before[:256] == 7).all())
    if not seen[False]:
        pytest.skip("the memory was not kept: the test shows nothing")
    assert not seen[True]


def test_free_memory_is_that_of_the_stream_in_sizes_that_the_allocator_serves(monkeypatch: pytest.MonkeyPatch):
    def segment(kind: str, size: int, blocks: dict[int, str], stream: int = 7, pool: tuple[int, int] = (0, 0)):
        parts = [{"size": nbytes, "state": state} for nbytes, state in blocks.items()]
        of = {"device": 0, "stream": stream, "segment_pool_id": pool}
        return {**of, "segment_type": kind, "total_size": size, "blocks": parts}

    megabyte = 1 << 20
    snapshot = [
        segment("small", 2 * megabyte, {512: "active_allocated", 2 * megabyte - 512: "inactive"}),
        segment("large", 20 * megabyte, {4 * megabyte: "active_allocated", 16 * megabyte: "inactive"}),
        segment("large", 2 * megabyte, {2 * megabyte: "inactive"}, stream=8),
        segment("large", 2 * megabyte, {2 * megabyte: "inactive"}, pool=(1, 0)),
    ]
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: snapshot)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=7))
    free = allocations.FreeMemory(torch.device("cuda"))
    assert free.sizes() == [16 * megabyte, megabyte, megabyte - 512]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("bounds", [(None, None), (-1.25, 0.75)])
def test_sums_have_the_same_bits_on_all_devices(worker: Worker, device: str, dtype: torch.dtype, bounds: tuple):
    values, addends = torch.randn(20_000 + 63).to(dtype), torch.randn(4099).to(dtype)
    worker.load(trace(lambda x: x * 1), device=device, kind="eager")
    worker.pools(windows=64, addends={"x": (addends, *bounds)}, x=values)
    windows = [{"start": 60, "step": 3, "addend_start": 4090, "addend_step": 5}]
    for _ in range(5):
        call = 2 + worker.time(trials=4, windows=windows)["kept_call"]
        window, shift = (60 + 3 * call) % 64, (4090 + 5 * call) % 4099
        expected = torch.empty(20_000, dtype=dtype)
        device_pool.summed(values, addends.repeat(6), [expected], *bounds)(window, shift, 0)
        reply = worker.request("fetch")
        assert torch.equal(worker.outputs(reply)[0], expected)
        # The worker compares with bits that native code computed on the host.
        assert reply["mutated"] == []


@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device; test_worker_timing.py does it on the CPU"
)
@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.int64], ids=str)
def test_elements_of_many_calls_are_noted_on_a_device(worker: Worker, dtype: torch.dtype):
    loaded = worker.load(trace(lambda x: (x * 2, (x + 1).view(4, 16).t())), device="cuda:0", kind="eager")
    assert loaded["type"] == "loaded", loaded
    name, windows = str(dtype).removeprefix("torch."), 32 if dtype == torch.int8 else 256
    worker.pools(windows=windows, x=torch.arange(windows + 63, dtype=dtype) % 100)
    # The blocks of a process share memory on the device.
    for seed, cache in (5, "warm"), (6, "cold"), (7, "warm"):
        rule = {"seed": seed, "every": 1, "elements": 3}
        timed = worker.time(warmup=2, trials=3, calls=2, sample=rule, cache=cache)
        assert timed["type"] == "timed", timed
        samples = timed["samples"]
        assert [(one["index"], one["dtype"], one["count"]) for one in samples] == [
            (0, name, 64),
            (1, name, 64),
        ]
        for sample, of in zip(samples, (lambda x: x * 2, lambda x: x + 1), strict=True):
            values = torch.frombuffer(bytearray.fromhex(sample["values"]), dtype=dtype).tolist()
            assert len(values) == 6 * 3
            for place, value in enumerate(values):
                call = 2 + place // 3
                content = torch.arange(call, call + 64, dtype=dtype) % 100
                assert value in of(content).tolist()
        assert timed["overwriting_ns"] < timed["total_ns"]
