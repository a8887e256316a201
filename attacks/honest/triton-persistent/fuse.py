import torch
import triton
import triton.language as tl


def pattern(x, y):
    return torch.nn.functional.gelu(x) + y


def replacement_args(x, y):
    return (x, y)


@triton.jit
def persistent(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask)
        y = tl.load(y_ptr + offs, mask=mask)
        tl.store(out_ptr + offs, 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)) + y, mask=mask)


def gelu_add(x, y):
    programs = 128
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    persistent[(min(programs, triton.cdiv(x.numel(), 1024)),)](x, y, out, x.numel(), BLOCK=1024, PROGRAMS=programs)
    return out


def replacement_func():
    return gelu_add
