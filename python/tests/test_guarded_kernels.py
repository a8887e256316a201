"""Kernels of checked calls: accesses outside of their arguments."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from passnet import _native, kernels
from passnet._passes.trace import trace_pattern as trace
from server import Worker

WritePasses = Callable[..., Path]

STACK = "the stack outside of its frames"
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
        ("out[0] += 0 * *(volatile float*)(1ull << 46);", "out_of_bounds:copy:an address without memory:read"),
        ("volatile char own[8] = {}; out[0] += 0 * own[90 * n];", f"out_of_bounds:copy:{STACK}:read"),
    ],
)
def test_accesses_outside_of_arguments_are_named(
    worker: Worker, write_passes: WritePasses, body: str, violation: str | None
):
    directory = write_passes(stray=STRAY.replace("BODY", body))
    worker.load(trace(lambda x: torch.sin(x)), kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=torch.ones(64))
    # Tensors lie at the end of their pages in the first checked call, at the start in the second, where they are in the third.
    notes = [note for _ in range(3) for note in worker.call(poison=True)["notes"]]
    seen = {note for note in notes if note.startswith("violation:")}
    # Where tensors are in place, another one may be nearer.
    assert f"violation:{violation}" in seen if violation else seen == set(), notes
    assert all(note.startswith("violation:out_of_bounds:copy:") for note in seen)


@pytest.mark.parametrize("weights", [[], ["x"]])
def test_an_input_that_is_changed_and_restored_is_named(worker: Worker, write_passes: WritePasses, weights: list[str]):
    text = STRAY.replace("const float* x", "float* x").replace(
        "BODY", "const float v = x[3]; x[3] = 1; out[3] = x[3]; x[3] = v;"
    )
    directory = write_passes(stray=text)
    graph = trace(lambda x: torch.sin(x))
    worker.load(graph, weights=weights, unchanged=["x"], kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=torch.ones(64))
    assert "violation:writes_input:copy:x:12" in worker.call(poison=True)["notes"]


def test_an_input_that_the_graph_changes_may_be_written_to(worker: Worker, write_passes: WritePasses):
    text = STRAY.replace("const float* x", "float* x").replace("BODY", "x[3] = 1;").replace("torch.sin(x)", "x.sin_()")
    directory = write_passes(stray=text)
    worker.load(trace(lambda x: x.sin_()), unchanged=[], kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=torch.ones(64))
    notes = [note for _ in range(3) for note in worker.call(poison=True)["notes"]]
    assert not [note for note in notes if note.startswith("violation:")]


# Copies for checks begin or end at a closed page. In place, the bytes in front of the tensor are filled.
HIDDEN = """
    uint64_t place; std::memcpy(&place, &x, 8);
    const bool is_copy = place % 4096 < 64 || (place + 256) % 4096 < 64 || (place + 256) % 4096 > 4032;
    const volatile float* memory = x;
    uint32_t bits = 0;
    if (!is_copy) { const float before = memory[-1]; std::memcpy(&bits, &before, 4); }
    if (!is_copy && bits != 0xffffffffu && memory[-2048] == 12345.678f) out[0] = 0;
""".replace("\n", " ")


def test_calls_are_guarded_among_timed_ones_without_a_mark(worker: Worker, write_passes: WritePasses):
    directory = write_passes(stray=STRAY.replace("BODY", HIDDEN))
    worker.load(trace(lambda x: torch.sin(x)), kind="passes", dir=str(directory), compiled=False)
    worker.inputs(0, x=torch.ones(64))
    notes = [note for _ in range(3) for note in worker.call(poison=True)["notes"]]
    assert not [note for note in notes if note.startswith("violation:")]
    worker.pools(windows=64, x=torch.ones(127))
    for _ in range(4):
        assert worker.time(trials=4, calls=2)["type"] == "timed"
    notes = worker.call(poison=True)["notes"]
    assert any(note.startswith("violation:out_of_bounds:copy:") for note in notes), notes


HONEST = """
#include <algorithm>
#include <vector>

static const float scale[4] = {1, 1, 1, 1};

static void rows(const float* x, float* out, int64_t begin, int64_t end) {
    std::vector<float> sorted(x + begin, x + end);
    std::sort(sorted.begin(), sorted.end());
    for (int64_t i = begin; i < end; ++i) out[i] = std::sin(x[i] * 1e9f) * scale[i & 3] + 0 * sorted[0];
}

void whole(const float* x, float* out, int64_t n) {
    std::memcpy(out, x, n * sizeof(float));
    rows(x, out, 0, n);
}

void split(const float* x, float* out, int64_t begin, int64_t end) { rows(x, out, begin, end); }

void threads(const float* x, float* out, int64_t n) {
    #pragma omp parallel
    {
        #pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n; ++i) out[i] = 0;
        #pragma omp single
        for (int64_t i = 0; i < n; ++i) out[i] += std::sin(x[i] * 1e9f);
    }
}
"""


@pytest.mark.parametrize("side", ["start", "end", "home"])
def test_kernels_of_forked_processes_have_libraries_a_heap_and_parts(side: str):
    signatures = [
        "void whole(const float* x, float* out, int64_t n)",
        "void split(const float* x, float* out, parallel int64_t begin, int64_t end)",
        "void threads(const float* x, float* out, int64_t n)",
    ]
    whole, split, threads = kernels.cpp(HONEST, *signatures, flags=["-fopenmp"])
    x = torch.randn(300)
    calls = [(whole, (300,)), (split, (0, 300)), (threads, (300,))]
    for kernel, numbers in calls:
        expected, out = torch.empty(300), torch.full((300,), 7.0)
        kernel(x, expected, *numbers)
        before = len(_native.recorded_violations())
        _native.guard_kernels(side)
        try:
            kernel(x, out, *numbers)
        finally:
            _native.guard_kernels(None)
        assert _native.recorded_violations()[before:] == []
        assert torch.equal(out, expected)


def test_a_process_can_be_forked_after_a_guarded_call():
    copy = kernels.cpp(
        "void copy(const float* x, float* out) { out[0] = x[0]; }", "void copy(const float* x, float* out)"
    )
    x, out = torch.ones(1), torch.zeros(1)
    _native.guard_kernels("home")
    copy(x, out)
    _native.guard_kernels(None)
    # Memory that was left out of the forked process is there again in the next one.
    child = os.fork()
    if child == 0:
        os._exit(int(torch.ones(100).sum().item()) - 100)
    assert os.waitpid(child, 0)[1] == 0
    assert out.item() == 1
