import torch
import triton
import triton.language as tl


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


@triton.jit
def kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < width
    x = tl.load(x_ptr + row * width + i, mask=mask, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * width + i, e / tl.sum(e, axis=0), mask=mask)


def fused(x):
    out = torch.empty_like(x)
    rows, width = x.shape
    kernel[(rows,)](x, out, width, BLOCK=triton.next_power_of_2(width))
    return out


def replacement_func():
    return fused
