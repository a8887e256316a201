"""The kernels of this directory: a sum, optionally kept, and its layer normalisation."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# The sum is rounded to the type of the tensors, as eager mode does; statistics are in float32 and in two passes over a
# row, which by then is in the first-level cache.
SOURCE = """
void add_norm(const element* x, const element* y, const element* weight, const element* bias, element* sum, element* out,
              int64_t rows, int64_t width, float eps) {
    std::vector<float> row(width), other(width), scale(width), shift(width);
    load(weight, scale.data(), width);
    load(bias, shift.data(), width);
    for (int64_t r = 0; r < rows; ++r) {
        float* v = row.data();
        float* u = other.data();
        load(x + r * width, v, width);
        const float* added = read(y + r * width, u, width);
        for (int64_t i = 0; i < width; ++i) v[i] += added[i];
        round_to<element>(v, width);
        store(v, sum + r * width, width);
        float mean = row_sum(v, width) / width;
        for (int64_t i = 0; i < width; ++i) v[i] -= mean, u[i] = v[i] * v[i];
        float inverse = 1.0f / std::sqrt(row_sum(u, width) / width + eps);
        for (int64_t i = 0; i < width; ++i) v[i] = v[i] * inverse * scale[i] + shift[i];
        store(v, out + r * width, width);
    }
}
"""
SIGNATURE = """
void add_norm(const element* x, const element* y, const element* weight, const element* bias, element* sum, element* out,
              int64_t rows, int64_t width, float eps)
"""
add_norm_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
add_norm_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
add_norm_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def add_norm_kernel(x_ptr, y_ptr, weight_ptr, bias_ptr, sum_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    i = tl.arange(0, BLOCK)
    inside = i < width
    T = out_ptr.dtype.element_ty
    x = tl.load(x_ptr + row + i, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row + i, mask=inside, other=0.0).to(tl.float32)
    total = (x + y).to(T)
    tl.store(sum_ptr + row + i, total, mask=inside)
    wide = total.to(tl.float32)
    centred = tl.where(inside, wide - tl.sum(wide, axis=0) / width, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / width + eps)
    weight = tl.load(weight_ptr + i, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row + i, (centred * inverse * weight + bias).to(T), mask=inside)


@kernels.prepared
def add_and_norm(x, y, weight, bias, eps):
    """The sum and its normalisation."""
    kernels.require(x, y, dtype=FLOATS, shape=x.shape)
    kernels.require(weight, bias, like=x, shape=x.shape[-1:])
    total = torch.empty_like(x)
    out = torch.empty_like(x)
    width = x.shape[-1]
    rows = x.numel() // width
    if x.is_cuda:
        block = triton.next_power_of_2(width)
        add_norm_kernel[(rows,)](x, y, weight, bias, total, out, width, eps, BLOCK=block)
    elif x.dtype == torch.float32:
        add_norm_float(x, y, weight, bias, total, out, rows, width, eps)
    elif x.dtype == torch.float16:
        add_norm_half(x, y, weight, bias, total, out, rows, width, eps)
    else:
        add_norm_bfloat16(x, y, weight, bias, total, out, rows, width, eps)
    return total, out


@kernels.prepared
def add_then_norm(x, y, weight, bias, eps):
    """The normalisation alone."""
    return add_and_norm(x, y, weight, bias, eps)[1]
