import torch
import triton
import triton.language as tl


def pattern(x):
    return x.t().contiguous()


def replacement_args(x):
    return (x,)


@triton.jit
def kernel(x_ptr, out_ptr, rows, width, sr, sw, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < width
    x = tl.load(x_ptr + row * sr + i * sw, mask=mask)
    tl.store(out_ptr + i * rows + row, x, mask=mask)


def fused(x):
    rows, width = x.shape
    out = torch.empty((width, rows), dtype=x.dtype, device=x.device)
    kernel[(rows,)](x, out, rows, width, x.stride(0), x.stride(1), BLOCK=triton.next_power_of_2(width))
    return out


def replacement_func():
    return fused
