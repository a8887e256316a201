"""Workers on a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from passnet._passes.trace import trace_pattern as trace
from server import ForkServer, Worker

# Not `torch.cuda.is_available()`: that could initialise CUDA in the process that the tests run in.
pytestmark = pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs an NVIDIA GPU")

TRITON_PASS = """
import torch
import triton
import triton.language as tl

def pattern(x, y):
    return torch.nn.functional.relu(x + y)

def replacement_args(x, y):
    return (x, y)

@triton.jit
def kernel(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    total = tl.load(x + at, inside) + tl.load(y + at, inside)
    tl.store(out + at, tl.maximum(total, 0.0), inside)

def add_relu(x, y):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), B=256)
    return out

def replacement_func():
    return add_relu
"""


def model(x: torch.Tensor, y: torch.Tensor) -> tuple:
    return F.relu(x + y), x.sum()


X, Y = torch.randn(256, 512), torch.randn(256, 512)


@pytest.fixture
def worker(server: ForkServer) -> Worker:
    return server.fork()


@pytest.mark.parametrize("candidate", ["eager", "control", "direct", "compiled", "inductor"])
def test_every_candidate_runs_and_is_timed(worker: Worker, write_passes: Callable[..., Path], candidate: str):
    directory = str(write_passes(rule=TRITON_PASS))
    spec = {
        "eager": {"kind": "eager"},
        "control": {"kind": "control"},
        "direct": {"kind": "passes", "dir": directory, "compiled": False},
        "compiled": {"kind": "passes", "dir": directory, "compiled": True},
        "inductor": {"kind": "inductor", "mode": "default", "compiled": True},
    }[candidate]
    loaded = worker.load(trace(model), device="cuda:0", **spec)
    assert loaded["type"] == "loaded", loaded
    assert loaded["notes"] == []
    assert worker.inputs(0, x=X, y=Y) == {"type": "done"}
    reply = worker.call(intercept=candidate in ("direct", "compiled"))
    relu, total = worker.outputs(reply)
    assert reply["values"][0]["device"] == "cuda:0"
    assert not any(note.startswith("violation") for note in reply["notes"])
    torch.testing.assert_close(relu, F.relu(X + Y))
    torch.testing.assert_close(total, X.sum(), rtol=1e-4, atol=1e-3)
    assert worker.call()["type"] == "outputs"
    for cache in ("warm", "cold"):
        timed = worker.time(cache=cache, trials=20)
        assert timed["type"] == "timed", timed
        assert len(timed["device_ns"]) == len(timed["e2e_ns"]) == 20
        assert all(0 < device <= e2e for device, e2e in zip(timed["device_ns"], timed["e2e_ns"], strict=True))
    torch.testing.assert_close(worker.outputs(worker.request("fetch"))[0], F.relu(X + Y))


def test_triton_kernels_of_a_pass_run_in_the_interpreter_on_the_cpu(worker: Worker, write_passes: Callable[..., Path]):
    loaded = worker.load(trace(model), kind="passes", dir=str(write_passes(rule=TRITON_PASS)), compiled=False)
    assert loaded["notes"] == ["triton_interpreter"]
    worker.inputs(0, x=X[:2, :64], y=Y[:2, :64])
    torch.testing.assert_close(worker.outputs(worker.call())[0], F.relu(X + Y)[:2, :64])


def test_a_broken_context_is_fatal(worker: Worker):
    worker.load(trace(lambda x, i: (x[i],)), device="cuda:0", kind="eager")
    worker.inputs(0, x=torch.ones(4), i=torch.tensor([1 << 40]))
    failed = worker.call()
    assert (failed["type"], failed["stage"], failed["fatal"]) == ("failed", "run", True), failed


def test_too_large_a_tensor_is_not_fatal(worker: Worker):
    worker.load(trace(lambda x: (x.repeat(1 << 42),)), device="cuda:0", kind="eager")
    worker.inputs(0, x=torch.ones(1))
    failed = worker.call()
    assert (failed["exception"], failed["fatal"]) == ("OutOfMemoryError", False), failed
