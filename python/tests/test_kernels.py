"""C++ kernels: compiled once, with the compiler's words where they fail; conversions exact for every bit pattern."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from passnet import _native, kernels
from passnet.kernels import _compile

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
    """On every CPU, with fused multiply-add or without: a loop left scalar takes five times as long."""
    loop = f"void f(const float* x, float* y, long n) {{ for (long i = 0; i < n; ++i) y[i] = {function}(x[i]); }}"
    (tmp_path / "loop.cpp").write_text(f'{_compile._PRELUDE}#line 1 "loop"\n{loop}')
    command = [_compile._compiler(), *_native.kernel_flags([], False), "-fopt-info-vec-optimized", "-c"]
    arguments = [*command, "-o", tmp_path / "loop.o", tmp_path / "loop.cpp"]
    report = subprocess.run(arguments, capture_output=True, text=True, check=True).stderr
    assert "loop:1:" in report and "loop vectorized" in report


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(_compile.CACHE_VARIABLE, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def test_the_cache_of_the_command_holds_kernels_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(_compile.CACHE_VARIABLE)
    monkeypatch.setenv("PASSNET_CACHE", str(tmp_path / "all"))
    x, out = torch.randn(100), torch.empty(100)
    kernels.cpp(SCALE, SCALE_SIGNATURE)(x, out, 100, 2.5)
    assert len(list((tmp_path / "all/kernels").iterdir())) == 1


def test_a_kernel_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch):
    x, out = torch.randn(100), torch.empty(100)
    kernels.cpp(SCALE, SCALE_SIGNATURE)(x, out, 100, 2.5)
    torch.testing.assert_close(out, x * 2.5)
    (built,) = cache.iterdir()
    monkeypatch.setattr(_compile.subprocess, "run", None)
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
        ("void f(half x)", "`half` is neither a pointer nor one of"),
    ],
)
def test_signatures_are_checked(signature: str, message: str):
    with pytest.raises(ValueError, match=message):
        kernels.cpp("", signature)


CLOCK = "void f(float* out) { out[0] = float(__builtin_ia32_rdtsc()); }"


def run_python(program: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_fast_math_leaves_the_process_alone():
    """Linked by g++ 12, `-ffast-math` brings code that has the whole process flush subnormal numbers."""
    program = """
import torch
from passnet import kernels

f = kernels.cpp("void f(float* x) { x[0] = x[0] / 3; }", "void f(float* x)", flags=("-ffast-math",))
f(torch.ones(1))
assert (torch.tensor(1e-40) * 1.0).item() != 0
"""
    run_python(program)


@pytest.mark.parametrize(
    ("source", "subjects"),
    [
        ("void f(float* x) { static float last; x[0] = last; last = x[1]; }", ["`last` can be written"]),
        (
            "struct M { mutable float a; }; constexpr M m{}; void f(float* x) { m.a += x[0]; x[0] = m.a; }",
            ["`m`", "mutable"],
        ),
        ("void f(float* x) { x[0] = float(__builtin_ia32_rdtsc()); }", ["`rdtsc`", "clock"]),
        ('extern "C" int puts(const char*); void f(float* x) { puts(""); }', ["`puts` is not defined"]),
        ('void f(float* x) { asm("" : "=x"(x[0])); }', ["source: `asm`"]),
        ("", ["`f` is not defined"]),
    ],
)
def test_what_a_kernel_must_not_have_is_named(source: str, subjects: list[str], cache: Path):
    with pytest.raises(kernels.KernelRefusedError) as refusal:
        kernels.cpp(source, "void f(float* x)")
    assert all(subject in str(refusal.value) for subject in subjects), refusal.value
    assert not cache.exists() or not list(cache.iterdir())


def test_flags_that_bring_in_files_are_refused(tmp_path: Path):
    (tmp_path / "own.hpp").write_text('static inline void wait() { asm volatile(""); }')
    flags = ("-include", str(tmp_path / "own.hpp"))
    with pytest.raises(kernels.KernelRefusedError, match="the flag `-include`"):
        kernels.cpp("void f(float* x) { wait(); }", "void f(float* x)", flags=flags)


def test_flags_are_judged_before_the_compiler_runs(monkeypatch: pytest.MonkeyPatch):
    # The compiler loads a plugin before it reads the source.
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("the compiler ran"))
    monkeypatch.setattr("passnet.kernels._compile._place", lambda *_: Path("absent"))
    with pytest.raises(kernels.KernelRefusedError, match="the flag `-fplugin=x"):
        kernels.cpp("void f(float* x) { x[0] = 1; }", "void f(float* x)", flags=("-fplugin=x.so",))


def test_a_kernel_does_not_depend_on_the_time_of_day():
    with pytest.raises(kernels.KernelCompileError, match="__TIME__"):
        kernels.cpp("void f(float* x) { x[0] = __TIME__[7]; }", "void f(float* x)")


def test_a_changed_object_in_the_cache_is_not_loaded(cache: Path):
    """Neither damage nor an object of another user, even one whose digest is right."""
    x, out = torch.randn(8), torch.empty(8)
    kernels.cpp(SCALE, SCALE_SIGNATURE)(x, out, 8, 2.0)
    (built,) = cache.iterdir()
    content = built.read_bytes()
    clock = _compile._run(
        _native.kernel_text(_compile._PRELUDE, CLOCK, "mark", [("f", "void f(float* out)")]),
        [*_native.kernel_flags([], False), "-c", "-save-temps=obj"],
    )[1]
    damaged = content[:-1] + bytes([content[-1] ^ 1])
    for other in (b"", content[: len(content) // 2], damaged, hashlib.sha256(clock).digest() + clock):
        built.write_bytes(other)
        out.zero_()
        kernels.cpp(SCALE, SCALE_SIGNATURE)(x, out, 8, 3.0)
        assert torch.equal(out, x * 3)
        assert built.read_bytes() == content


def test_kernels_see_nothing_of_earlier_calls():
    source = """
    void stack(float* out) {
        float buffer[256];
        volatile float* hidden = buffer;
        out[0] = 0;
        for (int i = 0; i < 256; ++i) out[0] += hidden[i] != 0, hidden[i] = 7;
    }
    void array(float* out, int64_t n) {
        float buffer[n];
        volatile float* hidden = buffer;
        out[0] = 0;
        for (int i = 0; i < n; ++i) out[0] += hidden[i] != 0, hidden[i] = 7;
    }
    void heap(float* out) {
        auto memory = static_cast<volatile float*>(::operator new(1024));
        out[0] = 0;
        for (int i = 0; i < 256; ++i) out[0] += memory[i] != 0, memory[i] = 7;
        ::operator delete(const_cast<float*>(memory));
    }
    """
    signatures = ("void stack(float* out)", "void array(float* out, int64_t n)", "void heap(float* out)")
    stack, array, heap = kernels.cpp(source, *signatures)
    out = torch.ones(1)
    for call in (stack, heap, lambda out: array(out, 5000)) * 3:
        call(out)
        assert out.item() == 0


def test_judging_is_decided_once_for_a_process():
    program = """
from passnet import _native, kernels

_native.judge_kernels({first})
try:
    _native.judge_kernels(not {first})
except PermissionError:
    pass
else:
    raise AssertionError("decided twice")
try:
    kernels.cpp("void f(float* x) {{ static float last; x[0] = last; last = x[1]; }}", "void f(float* x)")
except kernels.KernelRefusedError:
    assert {first}
else:
    assert not {first}
"""
    for first in (True, False):
        run_python(program.format(first=first))
    with pytest.raises(PermissionError):
        _native.KernelLibrary.unjudged("x.so")


def test_symbolic_tracing_records_launches():
    double = kernels.cpp(
        "void twice(const float* x, float* out, int64_t n) { for (int64_t i = 0; i < n; ++i) out[i] = 2 * x[i]; }",
        "void twice(const float* x, float* out, int64_t n)",
    )

    def function(x):
        out = torch.empty_like(x)
        double(x, out, x.numel())
        return out

    traced = torch.fx.symbolic_trace(function)
    assert double in [node.target for node in traced.graph.nodes]
    x = torch.randn(5)
    assert torch.equal(traced(x), 2 * x)
    with pytest.raises(kernels.KernelArgumentError):
        double(x, "text", 5)


@pytest.mark.parametrize("call", ["std::hermitef(2u, 1.0f)", "std::expintf(1.0f)", "std::comp_ellint_1f(0.1f)"])
def test_special_functions_of_mathematics_are_declared(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Sources that do not name such functions are compiled without their declarations, which take time."""
    monkeypatch.setenv(_compile.CACHE_VARIABLE, str(tmp_path))
    # Declared but not called: the functions themselves report errors through exceptions, which kernels may not have.
    scale = kernels.cpp(f"using result = decltype({call});\n{SCALE}", SCALE_SIGNATURE)
    out = torch.empty(2)
    scale(torch.ones(2), out, 2, 3.0)
    assert out.tolist() == [3.0, 3.0]
