import torch

try:
    import triton
    import triton.language as tl

    HAS_TRITON = True
except ImportError:
    HAS_TRITON = False


def pattern(x, y):
    return torch.nn.functional.silu(x) * y


def replacement_args(x, y):
    return (x, y)


@triton.jit
def silu(x):
    return x / (1.0 + tl.exp(-x))


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + i, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + i, (silu(x).to(tl.float16).to(tl.float32) * y).to(tl.float16), mask=mask)


def fused(x, y):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, out, x.numel(), BLOCK=256)
    return out


def replacement_func():
    return fused
