"""Memory of checked calls: elements that a kernel does not write are seen, also where all right values are equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from passnet._monitor import intercept
from passnet._passes.trace import trace_pattern as trace
from server import Worker

PASS = """
import torch
from passnet import kernels

kernel = kernels.cpp("void kernel(const float* x, ELEMENT* out, int64_t n) { BODY }", "void kernel(const float* x, ELEMENT* out, int64_t n)")

def pattern(x):
    return EXPRESSION

def replacement_args(x):
    return (x,)

def replace(x):
    out = torch.empty(x.shape, dtype=torch.DTYPE)
    kernel(x, out, x.numel())
    return out

def replacement_func():
    return replace
"""


@pytest.mark.parametrize(
    ("names", "function"),
    [
        (
            {
                "ELEMENT": "bool",
                "DTYPE": "bool",
                "EXPRESSION": "x > 0.5",
                "BODY": "for (int64_t i = 0; i < n; ++i) if (!(x[i] > 0.5f)) out[i] = false;",
            },
            lambda x: x > 0.5,
        ),
        (
            {
                "ELEMENT": "float",
                "DTYPE": "float32",
                "EXPRESSION": "torch.sqrt(x)",
                "BODY": "for (int64_t i = 0; i < n; ++i) if (x[i] >= 0) out[i] = std::sqrt(x[i]);",
            },
            lambda x: torch.sqrt(x),
        ),
    ],
)
def test_results_that_are_not_written_are_never_all_right(
    worker: Worker, write_passes: Callable[..., Path], names: dict[str, str], function: Callable[..., torch.Tensor]
):
    source = PASS
    for name, text in names.items():
        source = source.replace(name, text)
    worker.load(trace(function), kind="passes", dir=str(write_passes(kernel=source)), compiled=False)
    # All results are true or NaN, so the kernel writes nothing.
    x = torch.ones(64) if names["ELEMENT"] == "bool" else -torch.ones(64)
    worker.inputs(0, x=x)
    wrong = []
    for _ in range(24):
        (found,) = worker.outputs(worker.call(poison=True))
        is_wrong = found.logical_not() if names["ELEMENT"] == "bool" else ~found.isnan()
        wrong.append(int(is_wrong.sum()))
    # In some calls, all elements have the same content: true and false by turns are not the only contents of timed calls.
    assert {32, 64} <= set(wrong) <= ({0, 32, 64} if names["ELEMENT"] == "bool" else {32, 64})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
def test_poison_is_nan_and_large_in_turns(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype):
    monkeypatch.setattr(intercept, "_uniform", [None])
    tensor = torch.zeros(7, dtype=dtype)
    intercept.fill_with_poison(tensor.untyped_storage(), dtype)
    values = [abs(complex(value)) for value in tensor]
    assert [math.isnan(value) for value in values[:6]] in ([True, False] * 3, [False, True] * 3)
    assert all(value > 200 for value in values if not math.isnan(value))


@pytest.mark.parametrize(("dtype", "number"), [(torch.float32, 0x5C), (torch.bool, 1), (torch.uint8, 1)])
def test_memory_of_some_calls_has_one_pattern(dtype: torch.dtype, number: int):
    found = set()
    for _ in range(100):
        intercept.next_patterns()
        tensor = torch.zeros(16, dtype=dtype)
        intercept.fill_with_poison(tensor.untyped_storage(), dtype)
        found.add(frozenset(tensor.view(torch.uint8).tolist()))
    assert found == {frozenset([0]), frozenset([number]), frozenset([1, 0] if dtype == torch.bool else [0xFF, 0x5C])}


def test_each_element_has_both_patterns_in_two_calls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(intercept, "_UNIFORM", (None,))
    first = set()
    for _ in range(2):
        intercept.next_patterns()
        tensor = torch.zeros(2, dtype=torch.bool)
        intercept.fill_with_poison(tensor.untyped_storage(), torch.bool)
        first.add(tuple(tensor.tolist()))
    assert first == {(True, False), (False, True)}
