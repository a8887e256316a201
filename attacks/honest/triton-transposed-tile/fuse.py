import torch
import triton
import triton.language as tl


def pattern(x):
    return x.t().contiguous()


def replacement_args(x):
    return (x,)


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, cols, sx0, sx1, so0, so1, BR: tl.constexpr, BC: tl.constexpr):
    src = tl.make_block_ptr(x_ptr, (rows, cols), (sx0, sx1), (tl.program_id(0) * BR, tl.program_id(1) * BC), (BR, BC), (1, 0))
    dst = tl.make_block_ptr(out_ptr, (cols, rows), (so0, so1), (tl.program_id(1) * BC, tl.program_id(0) * BR), (BC, BR), (1, 0))
    tile = tl.load(src, boundary_check=(0, 1), padding_option="zero")
    tl.store(dst, tl.trans(tile), boundary_check=(0, 1))


def transposed(x):
    rows, cols = x.shape
    out = x.new_empty((cols, rows))
    grid = (triton.cdiv(rows, 16), triton.cdiv(cols, 16))
    transpose_kernel[grid](x, out, rows, cols, *x.stride(), *out.stride(), BR=16, BC=16)
    return out


def replacement_func():
    return transposed
