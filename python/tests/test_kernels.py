"""C++ kernels: compiled once, with the compiler's words where they fail; conversions exact for every bit pattern."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from passnet import kernels

SOURCE = """
void widen(const element* from, float* to, int64_t count) { load(from, to, count); }
void narrow(const float* from, element* to, int64_t count) { store(from, to, count); }
void round_row(float* row, int64_t count) { round_to<element>(row, count); }
void widen_each(const element* from, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}
void narrow_each(const float* from, element* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = element(from[i]);
}
"""
SIGNATURES = (
    "void widen(const element* from, float* to, int64_t count)",
    "void narrow(const float* from, element* to, int64_t count)",
    "void round_row(float* row, int64_t count)",
    "void widen_each(const element* from, float* to, int64_t count)",
    "void narrow_each(const float* from, element* to, int64_t count)",
)

SCALE = "void scale(const float* x, float* out, int64_t n, double by) { for (int64_t i = 0; i < n; ++i) out[i] = x[i] * by; }"
SCALE_SIGNATURE = "void scale(const float *x, float* out, int64_t n, double by);"


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bits, where any NaN is as good as another."""
    numbers = ~a.isnan()
    return torch.equal(numbers, ~b.isnan()) and torch.equal(a[numbers].view(torch.int32), b[numbers].view(torch.int32))


@pytest.mark.parametrize(
    ("element", "dtype"), [("float", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)]
)
def test_rows_convert_as_torch_converts(element, dtype):
    widen, narrow, round_row, widen_each, narrow_each = kernels.cpp(
        SOURCE, *SIGNATURES, flags=(f"-Delement={element}",)
    )
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16)
    every = every.view(dtype) if dtype != torch.float32 else every.view(torch.float16).float()
    # All values of the type, the ties between them and their neighbours, and random patterns; an odd count has a tail.
    bits = every.float().view(torch.int32)
    generator = torch.Generator().manual_seed(0)
    noise = torch.randint(-(1 << 31), 1 << 31, ((1 << 16) + 3,), generator=generator).to(torch.int32)
    near = [bits + shift for half in (1 << 12, 1 << 15) for shift in (0, 1, -1, half - 1, half, half + 1)]
    values = torch.cat([*near, noise]).view(torch.float32)
    expected = values.to(dtype)
    for from_type, to_type in ((widen, narrow), (widen_each, narrow_each)):
        wide, back = torch.empty(every.numel()), torch.empty_like(expected)
        from_type(every, wide, every.numel())
        to_type(values, back, values.numel())
        assert same(wide, every.float())
        assert same(back.float(), expected.float())
    row = values.clone()
    round_row(row, row.numel())
    assert same(row, expected.float())


def test_reductions_take_every_element_once():
    source = """
    void reduce(const float* x, float* sums, float* maxima, int64_t rows, int64_t width) {
        for (int64_t r = 0; r < rows; ++r) {
            sums[r] = row_sum(x + r * width, width);
            maxima[r] = row_max(x + r * width, width);
        }
    }
    """
    reduce = kernels.cpp(source, "void reduce(const float* x, float* sums, float* maxima, int64_t rows, int64_t width)")
    for width in (1, 7, 32, 45, 256, 517, 1000, 4096, 8191):
        x = torch.randn(64, width, generator=torch.Generator().manual_seed(width))
        sums, maxima = torch.empty(64), torch.empty(64)
        reduce(x, sums, maxima, 64, width)
        assert torch.equal(maxima, x.amax(-1)), width
        torch.testing.assert_close(sums, x.double().sum(-1).float(), rtol=0, atol=1e-4, msg=f"width {width}")


def test_fast_functions_are_accurate():
    source = """
    void apply(const float* x, float* exp, float* tanh, int64_t count) {
        for (int64_t i = 0; i < count; ++i) exp[i] = fast_exp(x[i]), tanh[i] = fast_tanh(x[i]);
    }
    """
    apply = kernels.cpp(source, "void apply(const float* x, float* exp, float* tanh, int64_t count)")
    special = torch.tensor([0.0, -0.0, 1e-30, float("inf"), float("-inf"), float("nan"), 88.7, -87.4, 1e30])
    x = torch.cat([torch.linspace(-87.3, 89, 1 << 16), torch.linspace(-1, 1, 1 << 16), special])
    results = torch.empty(2, x.numel())
    apply(x, results[0], results[1], x.numel())
    for result, function, units in ((results[0], torch.exp, 2), (results[1], torch.tanh, 4)):
        expected = function(x.double()).float()
        expected[expected.abs() < torch.finfo(torch.float32).tiny] *= 0
        assert torch.equal(result.isnan(), expected.isnan())
        error = (result.view(torch.int32) - expected.view(torch.int32)).abs()
        assert error[~expected.isnan()].max() <= units


@pytest.mark.parametrize("function", ["fast_exp", "fast_tanh", "float_to_half", "float_to_bf16"])
def test_loops_over_fast_functions_become_vector_code(function: str, tmp_path: Path):
    """On every processor, with fused multiply-add or without: a loop left scalar takes five times as long."""
    loop = f"void f(const float* x, float* y, long n) {{ for (long i = 0; i < n; ++i) y[i] = {function}(x[i]); }}"
    (tmp_path / "loop.cpp").write_text(f'{kernels._PRELUDE}#line 1 "loop"\n{loop}')
    command = [kernels._compiler(), *kernels._FLAGS, "-fopt-info-vec-optimized", "-o", tmp_path / "loop.so"]
    told = subprocess.run([*command, tmp_path / "loop.cpp"], capture_output=True, text=True, check=True).stderr
    assert "loop:1:" in told and "loop vectorized" in told


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kernels.CACHE_VARIABLE, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def test_a_kernel_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch):
    x, out = torch.randn(100), torch.empty(100)
    kernels.cpp(SCALE, SCALE_SIGNATURE)(x, out, 100, 2.5)
    torch.testing.assert_close(out, x * 2.5)
    (built,) = cache.iterdir()
    monkeypatch.setattr(kernels.subprocess, "run", None)
    kernels.cpp(SCALE, SCALE_SIGNATURE)(x, out, 50, -1.0)
    torch.testing.assert_close(out[:50], -x[:50])
    assert list(cache.iterdir()) == [built]


def test_the_compiler_has_the_word():
    with pytest.raises(kernels.KernelCompileError, match=r"kernel.cpp:2:.*undeclared|kernel.cpp:2:.*not declared"):
        kernels.cpp("void f(float* x) {\n    x[0] = y;\n}", "void f(float* x)")


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("int f(float* x)", "not of the form"),
        ("void f(float)", "cannot read the parameter `float`"),
        ("void f(float** x)", "cannot read"),
        ("void f(std::string x)", "cannot read"),
        ("void f(half x)", "`half` is none of"),
    ],
)
def test_signatures_are_checked(signature: str, message: str):
    with pytest.raises(ValueError, match=message):
        kernels.cpp("", signature)
