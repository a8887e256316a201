"""Kernels of checked calls: accesses outside of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from passnet._passes.trace import trace_pattern as trace
from server import Worker

WritePasses = Callable[..., Path]

STRAY = """
import torch
from passnet import kernels

copy = kernels.cpp(
    "void copy(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i]; BODY }",
    "void copy(const float* x, float* out, int64_t n)",
)

def pattern(x):
    return torch.sin(x)

def replacement_args(x):
    return (x,)

def stray(x):
    out = torch.empty_like(x)
    copy(x, out, x.numel())
    return out

def replacement_func():
    return stray
"""


@pytest.mark.parametrize(
    ("body", "violation"),
    [
        ("", None),
        ("out[0] += 0 * x[-1];", "out_of_bounds:copy:x:-4:256:read"),
        ("out[0] += 0 * x[n];", "out_of_bounds:copy:x:256:256:read"),
        ("out[-1] = 1;", "out_of_bounds:copy:out:-4:256:write"),
        ("out[n] = 1;", "out_of_bounds:copy:out:256:256:write"),
        ("out[n + 5000] = 1;", "out_of_bounds:copy:out:20256:256:write"),
        ("((float*)x)[3] += 1;", "out_of_bounds:copy:x:12:256:write"),
    ],
)
def test_accesses_outside_of_arguments_are_named(
    worker: Worker, write_passes: WritePasses, body: str, violation: str | None
):
    directory = write_passes(stray=STRAY.replace("BODY", body))
    worker.load(trace(lambda x: torch.sin(x)), kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=torch.ones(64))
    # Tensors lie at the end of their pages in the first checked call, and at the start in the second.
    notes = [*worker.call(poison=True)["notes"], *worker.call(poison=True)["notes"]]
    seen = {note for note in notes if note.startswith("violation:")}
    assert seen == ({f"violation:{violation}"} if violation else set())
