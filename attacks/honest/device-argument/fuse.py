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


CPU = torch.device("cpu")


def fused(x, y):
    device = CPU if x.device == CPU else x.device
    out = torch.empty(x.shape, dtype=torch.float32, device=device)
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, out, x.numel(), BLOCK=512)
    return out


def replacement_func():
    return fused
