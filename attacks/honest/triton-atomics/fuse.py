import torch
import triton
import triton.language as tl


def pattern(x):
    return x.sum(-1)


def replacement_args(x):
    return (x,)


@triton.jit
def kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * width + i, mask=i < width, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(x, axis=0))


def fused(x):
    rows, width = x.shape
    out = torch.zeros((rows,), dtype=x.dtype, device=x.device)
    kernel[(rows, triton.cdiv(width, 32))](x, out, width, BLOCK=32)
    return out


def replacement_func():
    return fused
