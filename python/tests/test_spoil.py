"""Spoilt results: the referee overwrites what replacement functions return, to see whether the outputs depend on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from passnet._monitor import intercept
from passnet._passes.load import PassDirectory
from passnet._passes.trace import trace_pattern as trace
from passnet.backend import Backend
from server import Worker

WritePasses = Callable[..., Path]

ADD = """
import torch
from passnet import kernels

kernel = kernels.cpp(
    "void add(const float* x, const float* y, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i]; }",
    "void add(const float* x, const float* y, float* out, int64_t n)",
)

def pattern(x, y):
    return x + y

def replacement_args(x, y):
    return (x, y)

def add(x, y):
    out = torch.empty_like(x)
    kernel(x, y, out, x.numel())
    return out

def replacement_func():
    return add
"""
X, Y = torch.randn(8, 16), torch.randn(8, 16)


def model(x: torch.Tensor, y: torch.Tensor) -> tuple:
    return torch.relu(x + y), x.sum()


@pytest.mark.parametrize("compiled", [False, True])
def test_outputs_that_depend_on_a_replacement_change(worker: Worker, write_passes: WritePasses, compiled: bool):
    directory = write_passes(add=ADD)
    worker.load(trace(model), kind="passes", dir=str(directory), compiled=compiled)
    worker.inputs(0, x=X, y=Y)
    plain, total = worker.outputs(worker.call())
    torch.testing.assert_close(plain, torch.relu(X + Y))
    for _ in range(2):
        spoilt, same = worker.outputs(worker.call(spoil=True))
        torch.testing.assert_close(spoilt, torch.relu(1 - (X + Y)))
        assert torch.equal(same, total)
    assert torch.equal(worker.outputs(worker.call())[0], plain), "later calls are as before"


def test_a_graph_that_dynamo_leaves_to_pytorch_does_not_depend_on_the_replacements(write_passes: WritePasses):
    backend = Backend([PassDirectory.load(write_passes(add=ADD))])
    module = torch.fx.GraphModule(torch.nn.Module(), trace(model))
    calls = torch.compile(module, backend=backend, dynamic=False)
    plain = calls(X, Y)[0]
    with backend.wrapping(lambda function: intercept.guarded(function, intercept.Watch(spoil=True))):
        assert not torch.equal(calls(X, Y)[0], plain)
        with torch.compiler.set_stance("force_eager"):
            assert torch.equal(calls(X, Y)[0], torch.relu(X + Y))
