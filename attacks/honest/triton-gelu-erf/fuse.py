import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


def pattern(x):
    return torch.nn.functional.gelu(x)


def replacement_args(x):
    return (x,)


INV_SQRT2 = tl.constexpr(0.7071067811865476)


@triton.jit
def _gelu(x):
    return 0.5 * x * (1.0 + libdevice.erf(x * INV_SQRT2))


@triton.heuristics({"EVEN_N": lambda args: args["n"] % args["BLOCK"] == 0, "num_warps": lambda args: 4 if args["BLOCK"] <= 1024 else 8})
@triton.jit(do_not_specialize=["n"])
def _gelu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN_N: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), BLOCK), BLOCK)
    if EVEN_N:
        x = tl.load(x_ptr + offs, eviction_policy="evict_first")
        tl.store(out_ptr + offs, _gelu(x))
    else:
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        tl.store(out_ptr + offs, _gelu(x), mask=offs < n)


def gelu(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    _gelu_kernel[(triton.cdiv(n, 512),)](x, out, n, BLOCK=512)
    return out


def replacement_func():
    return gelu
