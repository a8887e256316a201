import torch
import triton
import triton.language as tl


def pattern(x, y):
    x += y
    return torch.nn.functional.relu(x, inplace=True)


def replacement_args(x, y):
    return (x, y)


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask)
    tl.store(x_ptr + i, tl.where(x < 0, 0.0, x), mask=mask)


def fused(x, y):
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return x


def replacement_func():
    return fused
