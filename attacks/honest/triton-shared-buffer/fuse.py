import torch
import triton
import triton.language as tl


def pattern(x, y):
    total = x + y
    return total, torch.nn.functional.relu(total)


def replacement_args(x, y):
    return (x, y)


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    total = tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, total, mask=mask)
    tl.store(out_ptr + n + i, tl.where(total < 0, 0.0, total), mask=mask)


def fused(x, y):
    both = torch.empty((2, *x.shape), dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, both, x.numel(), BLOCK=1024)
    return both[0], both[1]


def replacement_func():
    return fused
