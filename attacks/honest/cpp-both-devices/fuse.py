import torch
import triton
import triton.language as tl

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, tl.where(x < 0, 0.0, x) + y, mask=mask)

relu_add = kernels.cpp(
    """
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0.0f ? 0.0f : x[i]) + y[i];
    }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x)
    if x.is_cuda:
        kernel[(triton.cdiv(x.numel(), 512),)](x, y, out, x.numel(), BLOCK=512)
    else:
        relu_add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
