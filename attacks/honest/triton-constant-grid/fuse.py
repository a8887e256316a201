import torch
import triton
import triton.language as tl


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


BLOCK_SIZE = 256
WARPS = {True: 4, False: 2}


def blocks(n):
    return triton.cdiv(n, BLOCK_SIZE)


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, tl.where(x < 0, 0.0, x) + y, mask=mask)


def fused(x, y):
    n = x.numel()
    out = torch.empty_like(x)
    kernel[(blocks(n),)](x, y, out, n, BLOCK=BLOCK_SIZE, num_warps=WARPS[n > 1000])
    return out


def replacement_func():
    return fused
