"""Timed calls of a worker: their contents, the one that is kept, and the memory of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from passnet._passes.trace import trace_pattern as trace
from passnet._worker import device_pool
from server import Worker

WritePasses = Callable[..., Path]


def test_each_call_sees_its_window_and_any_may_be_kept(worker: Worker):
    worker.load(trace(lambda x: (x * 2, x.add_(1))), kind="eager")
    worker.pools(windows=64, x=torch.arange(67, dtype=torch.float32))
    kept = set()
    # One of eight calls is kept. All have been after 300 blocks, except for one case in 10^16.
    for _ in range(300):
        timed = worker.time(warmup=10, trials=4, calls=2, windows=[{"start": 60, "step": 3}])
        assert len(timed["e2e_ns"]) == 4
        kept.add(timed["kept_call"])
        first = float((60 + 3 * (10 + timed["kept_call"])) % 64)
        reply = worker.request("fetch")
        doubled, changed = (tensor.tolist() for tensor in worker.outputs(reply))
        assert doubled == [2 * (first + i) for i in range(4)]
        assert changed == [first + i + 1 for i in range(4)] == worker.tensor(reply["mutated"][0]).tolist()
    assert kept == set(range(8))
    assert worker.request("drop_inputs") == {"type": "done"}
    assert worker.time(windows=[])["exception"] == "ProtocolError"


def test_elements_of_many_calls_are_noted(worker: Worker):
    # The second output is a view with other strides; the third has no elements of its own to note.
    worker.load(trace(lambda x: (x * 2, (x + 1).view(4, 16).t(), x.to(torch.complex64))), kind="eager")
    worker.pools(windows=256, x=torch.arange(319, dtype=torch.float32))
    windows = [{"start": 0, "step": 1}]
    rule = {"seed": 5, "every": 1, "elements": 3}
    samples = worker.time(warmup=2, trials=3, calls=2, windows=windows, sample=rule)["samples"]
    assert [(one["index"], one["dtype"], one["count"]) for one in samples] == [(0, "float32", 64), (1, "float32", 64)]
    for sample, of in zip(samples, (lambda x: x * 2, lambda x: x + 1), strict=True):
        values = torch.frombuffer(bytearray.fromhex(sample["values"]), dtype=torch.float32).tolist()
        assert len(values) == 6 * 3
        for place, value in enumerate(values):
            call = 2 + place // 3
            assert value in {of(float(call + element)) for element in range(64)}
    rare = worker.time(trials=8, calls=8, windows=windows, sample={**rule, "every": 8})["samples"]
    assert 0 < len(rare[0]["values"]) < 64 * 3 * 8
    assert worker.time(windows=windows)["samples"] == []


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("bounds", [(None, None), (-1.25, 0.75), (None, 0.75)])
def test_addends_are_added_as_pytorch_adds_them(worker: Worker, dtype: torch.dtype, bounds: tuple):
    values, addends = torch.randn(200 + 63).to(dtype), torch.randn(37).to(dtype)
    worker.load(trace(lambda x: (x * 1, x.add_(1))), kind="eager")
    worker.pools(windows=64, addends={"x": (addends, *bounds)}, x=values)
    for _ in range(20):
        windows = [{"start": 60, "step": 3, "addend_start": 35, "addend_step": 5}]
        call = 2 + worker.time(trials=4, windows=windows)["kept_call"]
        window, shift = (60 + 3 * call) % 64, (35 + 5 * call) % 37
        # As for a device: addends are repeated, and PyTorch computes the sums.
        out = torch.empty(200, dtype=dtype)
        device_pool.summed(values, addends.repeat(7), [out], *bounds)(window, shift, 0)
        reply = worker.request("fetch")
        assert torch.equal(worker.outputs(reply)[0], out)
        # The change in place is one of what the call saw.
        assert torch.equal(worker.tensor(reply["mutated"][0]), out + 1)


def test_contents_of_addends_are_compared_with_what_the_call_saw(worker: Worker):
    worker.load(trace(lambda x: x + 1), kind="eager")
    worker.pools(windows=8, addends={"x": (torch.randn(5), None, None)}, x=torch.randn(27))
    worker.time(windows=[{"start": 3, "step": 1, "addend_start": 2, "addend_step": 3}])
    assert worker.request("fetch")["mutated"] == []


FRESH_MEMORY = '''
import torch
from passnet import kernels

sums = kernels.cpp(
    """
    void sums(const float* x, float* out, float* before, int64_t n) {
        for (int64_t i = 0; i < n; ++i) before[i] = out[i];
        for (int64_t i = 0; i < n; ++i) out[i] = x[i] + x[i];
    }
    """,
    "void sums(const float* x, float* out, float* before, int64_t n)",
)

def pattern(x, y):
    return x + y, x - y

def replacement_args(x, y):
    return (x, y)

def fresh(x, y):
    BODY

def replacement_func():
    return fresh
'''


def test_results_are_overwritten_before_their_memory_is_used_again(worker: Worker, write_passes: WritePasses):
    body = "out, before = torch.empty_like(x), torch.zeros_like(x); sums(x, out, before, x.numel()); return out, before"
    directory = write_passes(fresh=FRESH_MEMORY.replace("BODY", body))
    loaded = worker.load(trace(lambda x, y: (x + y, x - y)), kind="passes", dir=str(directory), compiled=False)
    assert loaded["passes"][0]["matches"] == 1, loaded
    worker.pools(windows=1, x=torch.ones(40_000), y=torch.ones(40_000))
    worker.time(trials=10)
    out, before = worker.outputs(worker.request("fetch"))
    assert bool((out == 2).all())
    # Each call writes twos where the next one reads.
    assert not bool((before == 2).any())


def test_what_a_call_allocates_and_releases_is_overwritten(worker: Worker, write_passes: WritePasses):
    body = """left, before, out = torch.empty_like(x), torch.zeros_like(x), torch.zeros_like(x)
    sums(x, left, before, x.numel())
    return out, before"""
    directory = write_passes(fresh=FRESH_MEMORY.replace("BODY", body).replace("out[i] = x[i] + x[i]", "out[i] = 7"))
    worker.load(trace(lambda x, y: (x + y, x - y)), kind="passes", dir=str(directory), compiled=False)
    inputs = {"x": torch.ones(40_000), "y": torch.ones(40_000)}
    worker.inputs(0, **inputs)
    worker.call(poison=True)
    worker.pools(windows=1, **inputs)
    timed = worker.time(trials=10)
    assert 0 < timed["overwriting_ns"] < timed["total_ns"]
    _, before = worker.outputs(worker.request("fetch"))
    # Each call leaves sevens where the next one reads.
    assert not bool((before == 7).any())


SCRATCH = '''
import torch
from passnet import kernels

mark = kernels.cpp(
    """
    #include <vector>
    void mark(const float* x, float* left, float* seen, int64_t n) {
        std::vector<float> values(n, x[0]);
        for (int64_t i = 0; i < n; ++i) {
            seen[0] += left[i] - (int)left[i] == 15.0f / 8192 && left[i] != x[0];
            left[i] = values[i];
        }
    }
    """,
    "void mark(const float* x, float* left, float* seen, int64_t n)",
)

def pattern(x):
    return x * 2

def replacement_args(x):
    return (x,)

def marks(x):
    seen = torch.zeros_like(x)
    for size in (SIZES):
        left = torch.empty(size, dtype=x.dtype, device=x.device)
        mark(x, left, seen, size)
    return seen

def replacement_func():
    return marks
'''


@pytest.mark.parametrize("sizes", ["999, 1000, 1001", "16, 30_000, 5_000, 64, 30_001, 200"])
def test_a_scratch_tensor_has_nothing_of_an_earlier_call(worker: Worker, write_passes: WritePasses, sizes: str):
    directory = write_passes(marks=SCRATCH.replace("SIZES", sizes))
    loaded = worker.load(trace(lambda x: x * 2), kind="passes", dir=str(directory), compiled=False)
    assert loaded["passes"][0]["matches"] == 1, loaded
    worker.inputs(0, x=torch.ones(64))
    worker.call(poison=True)
    # Each call of a block has another first element, and leaves it in all of its scratch memory. Addresses that the allocator writes to
    # memory that is free are multiples of 16, and half of an address as a number never has this fraction.
    worker.pools(windows=64, x=torch.arange(1100, 1227, dtype=torch.float32) + 15 / 8192)
    for _ in range(10):
        worker.time(trials=10, calls=4)
        (seen,) = worker.outputs(worker.request("fetch"))
        assert seen[0] == 0


def test_overwriting_of_results_is_not_time_that_a_call_hides(worker: Worker):
    """It takes longer for results with memory of their own than for views of one tensor."""
    worker.load(trace(lambda x: (x + 1, x + 2, x + 3)), kind="eager")
    worker.pools(windows=1, x=torch.ones(5))
    assert worker.time(trials=10)["overwriting_ns"] > 0
    assert worker.time(trials=10, overwrite=False)["overwriting_ns"] == 0


def test_a_constant_that_is_returned_is_not_overwritten(worker: Worker):
    def constant(x: torch.Tensor) -> tuple:
        return x, x.view(-1), x + 1

    worker.load(trace(constant), kind="control")
    worker.pools(x=torch.ones(5))
    worker.inputs(0, x=torch.ones(5))
    worker.call()
    worker.time(warmup=3, trials=3)
    assert [tensor.tolist() for tensor in worker.outputs(worker.request("fetch"))] == [[1.0] * 5, [1.0] * 5, [2.0] * 5]
