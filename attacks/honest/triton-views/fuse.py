import torch
import triton
import triton.language as tl


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


def fused(x, y):
    flat = torch.empty((x.numel(),), dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(x.numel(), 512),)](x.view(-1), y.view(-1), flat, x.numel(), BLOCK=512)
    return flat.view(x.shape)


def replacement_func():
    return fused
