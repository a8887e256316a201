"""Kernels for GPUs are judged by their PTX, which needs a compiler but no GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from passnet import _native
from passnet.kernels import KernelRefusedError, _device_code

triton = pytest.importorskip("triton", reason="skipped: no Triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def softmax_kernel(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    row = tl.program_id(0) * n
    value = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(y + row + i, value / tl.sum(value, 0), mask=i < n)


@triton.jit
def product_kernel(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for step in range(n):
        total = tl.dot(tl.load(x + at + step * SIZE), tl.load(x + at), total)
    tl.atomic_add(y + at, tl.cumsum(tl.sqrt(total) + tl.math.erf(total), 0))


@triton.jit
def clock_kernel(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    now = tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r,r", [i], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(y + i, tl.load(x + i) + now)


@triton.jit
def timer_kernel(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    tl.store(y + i, tl.load(x + i) + (tl.extra.cuda.globaltimer() % n).to(tl.float32))


@triton.jit
def address_kernel(x, y, n, SIZE: tl.constexpr):
    place = tl.full((SIZE,), 0x7F0000000000, tl.int64).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, SIZE)
    tl.store(y + i, tl.load(place + i))
    tl.store(place + i, tl.load(x + i))


@triton.jit
def print_kernel(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    value = tl.load(x + i)
    tl.device_print("value", value)
    tl.store(y + i, value)


def compiled(function: Any, dtype: str = "fp32") -> Any:
    """A kernel for compute capability 9.0; no device is needed for that."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {"x": f"*{dtype}", "y": "*fp32", "n": "i32", "SIZE": "constexpr"}
    return triton.compile(
        ASTSource(function, types, constexprs={"SIZE": 64}),
        target=GPUTarget("cuda", 90, 32),
    )


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize(("function", "dtype"), [(softmax_kernel, "fp32"), (product_kernel, "fp16")])
def test_honest_kernels_are_accepted(function: Any, dtype: str):
    _device_code.judge(compiled(function, dtype).asm["ptx"])


@pytest.mark.parametrize(
    ("function", "finding"),
    [
        (clock_kernel, "`%clock`"),
        (timer_kernel, "`%globaltimer`"),
        (address_kernel, "made of numbers"),
        (print_kernel, "`vprintf`"),
    ],
)
def test_what_kernels_may_not_have_is_refused(function: Any, finding: str):
    with pytest.raises(KernelRefusedError, match=finding):
        _device_code.judge(compiled(function).asm["ptx"])


def test_triton_loads_no_kernel_that_was_refused(monkeypatch: pytest.MonkeyPatch):
    from triton.compiler.compiler import CompiledKernel

    loaded = []
    monkeypatch.setattr(CompiledKernel, "_init_handles", lambda kernel: loaded.append(kernel.name))
    _device_code.judge_triton.__wrapped__()
    compiled(softmax_kernel)._init_handles()
    with pytest.raises(KernelRefusedError):
        compiled(clock_kernel)._init_handles()
    assert loaded == ["softmax_kernel"]


def test_flags_are_judged_too():
    ptx = compiled(softmax_kernel).asm["ptx"]
    assert _native.judge_device_code(ptx, ["--use_fast_math"]) == []
    assert "--include-path=/etc" in _native.judge_device_code(ptx, ["--include-path=/etc"])[0]
