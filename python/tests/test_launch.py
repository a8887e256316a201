"""Launchers of CUDA kernels: what can be known without a GPU, and the rest with one."""

from __future__ import annotations

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

import triton
import triton.language as tl

from passnet import kernels
from passnet.kernels import _cuda, _nvrtc

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

ADD = """
__global__ void add(const float* x, const float* y, float* out, int64_t n) {
    int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
"""
ADD_SIGNATURE = "void add(const float* x, const float* y, float* out, int64_t n)"


@triton.jit
def _scale(x, out, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


def test_without_a_gpu_triton_launches():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert kernels.triton(_scale) is _scale
    x, out = torch.randn(100), torch.zeros(100)
    kernels.triton(_scale)[(2,)](x, out, 100, 2.0, BLOCK=64)
    torch.testing.assert_close(out, 2 * x)


def test_cuda_sources_become_machine_code():
    try:
        _nvrtc._library()
    except kernels.KernelCompileError as error:
        pytest.skip(str(error))
    code = _cuda.machine_code(f'extern "C" __global__ {ADD_SIGNATURE};\n', ADD, "sm_90", ())
    assert code.startswith(b"\x7fELF")
    with pytest.raises(kernels.KernelCompileError, match=r'kernel.cu\(2\): error: identifier "y" is undefined'):
        _cuda.machine_code("", "__global__ void f(float* x) {\n    x[0] = y;\n}", "sm_90", ())


def test_signatures_are_checked():
    with pytest.raises(ValueError, match="`half` is neither a pointer nor one of"):
        kernels.cuda("", "void f(half x)")


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_launches_equal_tritons(dtype: torch.dtype):
    fast = kernels.triton(_scale)
    for n in (1, 16, 100, 1024, 100_000):
        for offset in (0, 1):  # An unaligned view takes another specialisation.
            x = torch.randn(n + 1, device="cuda", dtype=dtype)[offset : offset + n]
            for factor in (1.0, -0.5):
                expected, out = torch.empty(n, device="cuda", dtype=dtype), torch.empty(n, device="cuda", dtype=dtype)
                _scale[(triton.cdiv(n, 256),)](x, expected, n, factor, BLOCK=256)
                for _ in range(3):
                    out.fill_(torch.nan)
                    fast[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, out, n, factor, BLOCK=256)
                    assert torch.equal(out, expected)


@needs_gpu
def test_launches_follow_the_stream():
    fast, x = kernels.triton(_scale), torch.ones(1 << 24, device="cuda")
    fast[(1,)](x, x, 16, 1.0, BLOCK=256)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(10):
            x.mul_(2.0)
        fast[(x.numel() // 256,)](x, x, x.numel(), 0.5, BLOCK=256)
    stream.synchronize()
    assert x.unique().tolist() == [512.0]


@needs_gpu
def test_prepared_functions_repeat_their_launches():
    fast, add, calls = kernels.triton(_scale), kernels.cuda(ADD, ADD_SIGNATURE), []

    @kernels.prepared
    def scaled_sum(x, y):
        calls.append(())
        n = x.numel()
        scaled = torch.empty(n, dtype=x.dtype, device=x.device)
        out = torch.empty_like(x)
        fast[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, scaled, n, 0.5, BLOCK=256)
        add[(triton.cdiv(n, 256),), (256,)](scaled, y, out, n)
        return out

    for offset in (0, 1):  # Another alignment takes another kernel, and so another plan.
        for _ in range(3):
            x, y = torch.randn(2, 1001, device="cuda")[:, offset : offset + 1000].unbind()
            assert torch.equal(scaled_sum(x, y), x * 0.5 + y)
    assert len(calls) == 2
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.equal(scaled_sum(x, y), x * 0.5 + y)
    assert len(calls) == 2


@needs_gpu
def test_host_tensors_are_tritons_business():
    with pytest.raises(ValueError, match="cpu tensor"):
        kernels.triton(_scale)[(1,)](torch.ones(16), torch.ones(16), 16, 2.0, BLOCK=16)


@needs_gpu
def test_cuda_kernels_run():
    add = kernels.cuda(ADD, ADD_SIGNATURE)
    x, y = torch.randn(2, 1000, device="cuda")
    out = torch.empty(1000, device="cuda")
    add[(4,), (256,)](x, y, out, 1000)
    torch.testing.assert_close(out, x + y)
    with pytest.raises(TypeError, match="add takes 4 arguments, got 2"):
        add[(4,), (256,)](x, y)
    with pytest.raises(RuntimeError, match="cuLaunchKernel"):
        add[(4,), (4096,)](x, y, out, 1000)
    before = out.clone()
    for arguments, message in (
        ((x.half(), y, out, 1000), "kernel `add`, argument `x`: expected a tensor of float32, got a tensor of float16"),
        ((x, y.cpu(), out, 1000), "argument `y`: expected a tensor on cuda:0, the current device, got a tensor on cpu"),
        ((x, y, torch.empty(2000, device="cuda")[::2], 1000), "argument `out`: expected a contiguous tensor"),
        ((x, y, out, 1000.0), "argument `n`: expected an integer of 64 bits"),
    ):
        with pytest.raises(kernels.KernelArgumentError, match=message):
            add[(4,), (256,)](*arguments)
    assert torch.equal(out, before)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_tensors_are_on_the_current_device():
    x = torch.randn(256, device="cuda:1")
    message = "expected a tensor on cuda:0, the current device, got a tensor on cuda:1"
    with pytest.raises(kernels.KernelArgumentError, match=f"kernel `_scale`, argument `x`: {message}"):
        kernels.triton(_scale)[(1,)](x, x, 256, 2.0, BLOCK=256)
    with pytest.raises(kernels.KernelArgumentError, match=f"kernel `add`, argument `x`: {message}"):
        kernels.cuda(ADD, ADD_SIGNATURE)[(1,), (256,)](x, x, x, 256)
    with torch.cuda.device(1):
        out = torch.empty_like(x)
        kernels.triton(_scale)[(1,)](x, out, 256, 2.0, BLOCK=256)
        assert torch.equal(out, x * 2)
