import torch
import triton
import triton.language as tl


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + i)
        tl.store(out_ptr + i, tl.where(x < 0, 0.0, x) + tl.load(y_ptr + i))
    else:
        mask = i < n
        x = tl.load(x_ptr + i, mask=mask, other=0.0)
        tl.store(out_ptr + i, tl.where(x < 0, 0.0, x) + tl.load(y_ptr + i, mask=mask), mask=mask)


def fused(x, y):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(x.numel(), 512),)](x, y, out, x.numel(), BLOCK=512)
    return out


def replacement_func():
    return fused
