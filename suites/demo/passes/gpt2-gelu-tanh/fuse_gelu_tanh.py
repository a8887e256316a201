"""The tanh approximation of GELU as GPT-2 writes it: eight elementwise operations in one loop."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def pattern(x):
    half = 0.5 * x
    inner = 0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))
    return half * (1.0 + torch.tanh(inner))


def replacement_args(x):
    return (x,)


def replacement_func():
    return gelu


# Every eager operation stores its result, hence a rounding after each step; blocks of 256 stay in the first-level cache.
SOURCE = """
void gelu(const element* x, element* out, int64_t count) {
    constexpr int64_t block = 256;
    for (int64_t start = 0; start < count; start += block) {
        int64_t n = std::min(block, count - start);
        float v[block], y[block];
        load(x + start, v, n);
        for (int64_t i = 0; i < n; ++i) y[i] = v[i] * v[i];
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) y[i] *= v[i];
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) y[i] *= 0.044715f;
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) y[i] += v[i];
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) y[i] *= 0.7978845608028654f;
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) y[i] = fast_tanh(y[i]);
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) y[i] += 1.0f;
        round_to<element>(y, n);
        for (int64_t i = 0; i < n; ++i) v[i] *= 0.5f;
        round_to<element>(v, n);
        for (int64_t i = 0; i < n; ++i) y[i] *= v[i];
        store(y, out + start, n);
    }
}
"""
SIGNATURE = "void gelu(const element x[count], element out[count], int64_t count)"
gelu_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
gelu_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
gelu_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def gelu_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    T = out_ptr.dtype.element_ty
    x = tl.load(x_ptr + i, mask=inside).to(tl.float32)
    cube = ((x * x).to(T).to(tl.float32) * x).to(T).to(tl.float32)
    inner = (x + (0.044715 * cube).to(T).to(tl.float32)).to(T).to(tl.float32)
    inner = (0.7978845608028654 * inner).to(T).to(tl.float32)
    # tanh through exp of a number that is not positive, which cannot overflow.
    decay = tl.exp(-2.0 * tl.abs(inner))
    tanh = (1.0 - decay) / (1.0 + decay)
    tanh = tl.where(inner < 0, -tanh, tanh).to(T).to(tl.float32)
    half = (0.5 * x).to(T).to(tl.float32)
    tl.store(out_ptr + i, (half * (1.0 + tanh).to(T).to(tl.float32)).to(T), mask=inside)


@kernels.prepared
def gelu(x):
    kernels.require(x, dtype=FLOATS)
    out = torch.empty_like(x)
    count = x.numel()
    if x.is_cuda:
        gelu_kernel[(triton.cdiv(count, 1024),)](x, out, count, BLOCK=1024)
    elif x.dtype == torch.float32:
        gelu_float(x, out, count)
    elif x.dtype == torch.float16:
        gelu_half(x, out, count)
    else:
        gelu_bfloat16(x, out, count)
    return out
