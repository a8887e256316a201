"""Calls of kernels are checked against their signatures: a wrong one is an exception, and nothing is read or written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from passnet import _native, kernels
from passnet._passes.trace import trace_pattern as trace
from passnet.kernels._signature import Signature
from server import ForkServer
from test_worker import ADD_RELU, CPP, CPP_BODY, model

SOURCE = """
void add(const float* x, const float* y, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] + y[i]; }
void scale_rows(const float* x, const float* by, float* out, int64_t rows, int64_t width) {
    for (int64_t i = 0; i < rows * width; ++i) out[i] = x[i] * by[i / width];
}
void transpose(const float* x, float* out, int64_t rows, int64_t width, int64_t xr, int64_t xw, int64_t r, int64_t w) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < width; ++j) out[i * r + j * w] = x[i * xr + j * xw];
}
void numbers(bool flag, int small, uint32_t natural, int64_t wide, size_t size, float number, double precise) {}
void bits(const uint16_t* x, uint16_t* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = x[i]; }
void bytes(const void* x, void* out, int64_t n) { std::memcpy(out, x, n); }
"""
SIGNATURES = (
    "void add(const float* x, const float* y, float* out, int64_t n)",
    "void scale_rows(const float x[rows * width], const float by[rows], float out[rows * width], int64_t rows, int64_t width)",
    """void transpose(const float* strided x, float* strided out, int64_t rows, int64_t width, int64_t xr, int64_t xw,
                      int64_t r, int64_t w)""",
    "void numbers(bool flag, int small, uint32_t natural, int64_t wide, size_t size, float number, double precise)",
    "void bits(const uint16_t* x, uint16_t* out, int64_t n)",
    "void bytes(const void* x, void* out, int64_t n)",
)


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    return {function.__name__: function for function in kernels.cpp(SOURCE, *SIGNATURES)}


X, OUT = torch.randn(3, 4), torch.empty(3, 4)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, X.bfloat16(), "argument `x`: expected a tensor of float32, got a tensor of bfloat16"),
        (1, X.double(), "argument `y`: expected a tensor of float32, got a tensor of float64"),
        (2, OUT.int(), "argument `out`: expected a tensor of float32, got a tensor of int32"),
        (
            0,
            torch._neg_view(X),
            "argument `x`: expected a tensor whose values are in memory, got a view that is lazily negated",
        ),
        (
            0,
            torch._to_functional_tensor(X),
            "argument `x`: expected a tensor whose values are in memory, got a tensor without memory",
        ),
        (0, X.to("meta"), "argument `x`: expected a tensor on the CPU, got a tensor on meta"),
        (
            1,
            X.t(),
            "argument `y`: expected a contiguous tensor, .* got one of shape [(]4, 3[)] with strides [(]1, 4[)]",
        ),
        (1, X[:1].expand(3, 4), "argument `y`: expected a contiguous tensor"),
        (0, X.to_sparse(), "argument `x`|[Ss]parse"),
        (0, 3.0, "argument `x`: expected a tensor of float32, got `float`"),
        (0, None, "argument `x`: expected a tensor of float32, got `NoneType`"),
        (3, 12.0, "argument `n`: expected an integer of 64 bits, got `12.0`"),
        (3, 1 << 63, "argument `n`: expected an integer of 64 bits, got `9223372036854775808`"),
        (3, X, "argument `n`: expected an integer of 64 bits"),
    ],
)
def test_a_wrong_argument_is_named(functions: dict[str, Any], place: int, value: Any, message: str):
    arguments: list[Any] = [X, X, OUT, 12]
    functions["add"](*arguments)
    arguments[place] = value
    before = _native.launches()
    with pytest.raises((TypeError, RuntimeError), match=message) as caught:
        functions["add"](*arguments)
    assert _native.launches() == before, "the kernel ran"
    if isinstance(caught.value, kernels.KernelArgumentError):
        assert str(caught.value).startswith("kernel `add`, ")


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((True, -(1 << 31), (1 << 32) - 1, -(1 << 63), (1 << 64) - 1, 1, 2), None),
        ((2, 0, 0, 0, 0, 0.0, 0.0), "`flag`: expected True or False, got `2`"),
        ((False, 1 << 31, 0, 0, 0, 0.0, 0.0), "`small`: expected an integer of 32 bits, got `2147483648`"),
        ((False, 0, -1, 0, 0, 0.0, 0.0), "`natural`: expected a non-negative integer of 32 bits, got `-1`"),
        ((False, 0, 0, 0, -1, 0.0, 0.0), "`size`: expected a non-negative integer of 64 bits, got `-1`"),
        ((False, 0, 0, 0, 0, "x", 0.0), "`number`: expected a number, got `'x'`"),
    ],
)
def test_numbers_fit_their_types(functions: dict[str, Any], numbers: tuple, message: str | None):
    if message is None:
        functions["numbers"](*numbers)
        return
    with pytest.raises(kernels.KernelArgumentError, match=re.escape(message)):
        functions["numbers"](*numbers)


def test_sizes_in_a_signature_are_those_of_the_tensors(functions: dict[str, Any]):
    scale_rows, by = functions["scale_rows"], torch.randn(3)
    scale_rows(X, by, OUT, 3, 4)
    assert torch.equal(OUT, X * by[:, None])
    with pytest.raises(kernels.KernelArgumentError, match="`by`: expected a tensor of 3 elements, got one of 1"):
        scale_rows(X, by[:1], OUT, 3, 4)
    with pytest.raises(kernels.KernelArgumentError, match="`out`: expected a tensor of 12 elements, got one of 4"):
        scale_rows(X, by, OUT[0], 3, 4)
    with pytest.raises(kernels.KernelArgumentError, match="overflows"):
        scale_rows(X, by, OUT, 1 << 62, 1 << 62)


def test_strided_arguments_have_any_layout_but_no_shared_elements_to_write(functions: dict[str, Any]):
    transpose, turned = functions["transpose"], torch.empty(4, 3).t()
    transpose(X, turned, 3, 4, *X.stride(), *turned.stride())
    assert torch.equal(turned, X)
    row = X[:1].expand(3, 4)
    transpose(row, turned, 3, 4, *row.stride(), *turned.stride())
    assert torch.equal(turned, row)
    with pytest.raises(kernels.KernelArgumentError, match="`out`: expected a tensor to write to"):
        transpose(X, row, 3, 4, *X.stride(), *row.stride())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int16, torch.uint16])
def test_unsigned_types_take_the_bits_of_all_types_of_their_size(functions: dict[str, Any], dtype: torch.dtype):
    x = torch.arange(6).to(dtype)
    out = torch.empty_like(x)
    functions["bits"](x, out, 6)
    assert torch.equal(out, x)
    with pytest.raises(
        kernels.KernelArgumentError, match=r"`x`: expected a tensor of .*bfloat16.*, got a tensor of int32"
    ):
        functions["bits"](x.int(), out, 6)
    again = torch.empty_like(x)
    functions["bytes"](x, again, 12)
    assert torch.equal(again, x)


def test_a_prepared_function_is_checked_for_each_signature(functions: dict[str, Any]):
    @kernels.prepared
    def added(x, y):
        out = torch.empty_like(x)
        functions["add"](x, y, out, x.numel())
        return out

    for _ in range(3):
        assert torch.equal(added(X, X.clone()), X + X)
        for x, y in ((X.bfloat16(), X), (X, X.double()), (X, torch.empty(4, 3).t()), (X.to("meta"), X)):
            with pytest.raises(kernels.KernelArgumentError, match=r"kernel `add`, argument `[xy]`"):
                added(x, y)


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("void f(const odd* x)", "no tensor has elements of type `odd`.*-Dodd=float"),
        ("void f(float x[m], int64_t n)", "`m` of `x` is not an expression"),
        ("void f(float x[y], float* y)", "`y` of `x` is not an expression"),
        ("void f(float x[n +], int64_t n)", "cannot read the size `n [+]` of `x`"),
        ("void f(float* x[n], int64_t n)", "array of pointers; write `float x.n.`"),
        ("void f(int64_t strided n)", "cannot read the parameter"),
        ("void f(float x[], int64_t n)", "cannot read the size"),
    ],
)
def test_signatures_that_cannot_be_checked_are_refused(signature: str, message: str):
    with pytest.raises(ValueError, match=message):
        kernels.cpp("void f() {}", signature)


def test_the_compiler_sees_pointers():
    signature = Signature.parse("void f(const float x[(n + 1) * m], double* __restrict__ strided y, int64_t n, int m);")
    assert signature.declaration == "void f(const float* x, double* y, int64_t n, int m)"
    assert signature.described(())[0][-1] == [("parameter", 2), ("number", 1), ("+", 0), ("parameter", 3), ("*", 0)]


def test_the_referee_names_the_argument(server: ForkServer, write_passes: Callable[..., Path]):
    """A pass without any guard, given bfloat16: an exception in the worker, not a damaged heap."""
    worker = server.fork()
    directory = write_passes(add_relu=CPP + ADD_RELU.replace("BODY", CPP_BODY))
    assert worker.load(trace(model), kind="passes", dir=str(directory), compiled=False)["type"] == "loaded"
    worker.inputs(0, x=torch.randn(8, 16).bfloat16(), y=torch.randn(8, 16).bfloat16())
    failed = worker.call()
    assert (failed["type"], failed["stage"], failed["exception"]) == ("failed", "run", "KernelArgumentError")
    expected = "kernel `add_relu`, argument `x`: expected a tensor of float32, got a tensor of bfloat16"
    assert failed["message"] == expected
