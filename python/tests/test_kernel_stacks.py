"""Stacks of kernels: nothing of an earlier call is below the frames of the next one, in any thread."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from passnet import _native, kernels

# As workers of the referee do.
_native.judge_kernels(True)

# Each step writes what lies 1,200 bytes below a local, or -1 where that is zero, and then leaves a value there.
LOOK = """
static __attribute__((noinline)) float look() {
    volatile float own[16];
    volatile float* below = own - 300;
    const float seen = *below;
    *below = 7;
    return seen == 0 ? -1 : seen;
}
"""
SIGNATURE = "void f(float* out, int64_t n)"
one = kernels.cpp(LOOK + SIGNATURE + " { for (int64_t i = 0; i < n; i += n) out[i] = look(); }", SIGNATURE)
RANGE = "void g(float* out, parallel int64_t begin, int64_t end)"
TEXT = RANGE.replace("parallel ", "")
parts = kernels.cpp(LOOK + TEXT + " { out[begin] = look(); }", RANGE)
team = kernels.cpp(
    "#include <omp.h>\n"
    + LOOK
    + SIGNATURE
    + " {\n#pragma omp parallel num_threads(2)\nout[omp_get_thread_num()] = look(); }",
    SIGNATURE,
    flags=["-fopenmp"],
)
# An array of dynamic size: the stack has no known bound.
deep = kernels.cpp(
    SIGNATURE
    + " {\n    volatile float own[n];\n    own[0] = 0;\n    volatile float* below = own - 20000;\n"
    + "    out[0] = *below == 0 ? -1 : *below;\n    *below = 7;\n}",
    SIGNATURE,
)


def direct(kernel: Callable[..., None]) -> torch.Tensor:
    out = torch.empty(2)
    kernel(out, 2)
    return out


@kernels.prepared
def prepared(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    one(out, x.numel())
    return out


@pytest.mark.parametrize("kernel", [one, deep])
def test_calls_leave_nothing_below_their_frames(kernel: Callable[..., None]):
    assert [float(direct(kernel)[0]) for _ in range(5)] == [-1.0] * 5


def test_prepared_calls_leave_nothing_below_their_frames():
    x = torch.zeros(2)
    assert [float(prepared(x)[0]) for _ in range(5)] == [-1.0] * 5


def test_threads_of_a_range_leave_nothing_below_their_frames():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for _ in range(5):
            out = torch.empty(2)
            parts(out, 0, 2)
            assert out.tolist() == [-1.0, -1.0]
    finally:
        torch.set_num_threads(before)


def test_threads_of_openmp_leave_nothing_below_their_frames():
    # The first thread continues on the stack of the call, so that it may find what its caller left; others have one of their own.
    assert [float(direct(team)[1]) for _ in range(5)] == [-1.0] * 5


def test_there_is_no_unused_stack():
    program = (
        "import torch\nfrom passnet import _native, kernels\n_native.judge_kernels(True)\n"
        "far = kernels.cpp('void f(float* out, int64_t n) { volatile float own[16] = {}; out[0] = own[-30000 * n]; }',"
        " 'void f(float* out, int64_t n)')\nfar(torch.empty(1), 1)\nprint('returned')\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode < 0 and "returned" not in run.stdout
