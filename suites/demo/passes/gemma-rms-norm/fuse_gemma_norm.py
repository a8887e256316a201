"""RMS normalisation as Gemma computes it: in float32 to the end, with a weight that is an offset from one."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def pattern(weight, x):
    wide = x.float()
    variance = wide.pow(2).mean(-1, keepdim=True)
    normal = wide * torch.rsqrt(variance + 1e-06)
    return (normal * (1.0 + weight.float())).type_as(x)


def replacement_args(weight, x):
    return (weight, x)


def replacement_func():
    return gemma_norm


SOURCE = """
void normalise(const element* x, const element* weight, element* out, int64_t rows, int64_t width) {
    std::vector<float> scale(width), row(width), square(width);
    load(weight, scale.data(), width);
    for (float& s : scale) s += 1.0f;
    for (int64_t r = 0; r < rows; ++r) {
        float* v = row.data();
        const float* from = read(x + r * width, v, width);
        for (int64_t i = 0; i < width; ++i) square[i] = from[i] * from[i];
        float inverse = 1.0f / std::sqrt(row_sum(square.data(), width) / width + 1e-6f);
        for (int64_t i = 0; i < width; ++i) v[i] = from[i] * inverse * scale[i];
        store(v, out + r * width, width);
    }
}
"""
SIGNATURE = "void normalise(const element* x, const element* weight, element* out, int64_t rows, int64_t width)"
normalise_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
normalise_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
normalise_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def normalise_kernel(x_ptr, weight_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    i = tl.arange(0, BLOCK)
    inside = i < width
    x = tl.load(x_ptr + row + i, mask=inside, other=0.0).to(tl.float32)
    inverse = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / width + 1e-06)
    scale = 1.0 + tl.load(weight_ptr + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row + i, (x * inverse * scale).to(out_ptr.dtype.element_ty), mask=inside)


@kernels.prepared
def gemma_norm(weight, x):
    kernels.require(x, dtype=FLOATS)
    kernels.require(weight, like=x, shape=x.shape[-1:])
    out = torch.empty_like(x)
    width = x.shape[-1]
    rows = x.numel() // width
    if x.is_cuda:
        normalise_kernel[(rows,)](x, weight, out, width, BLOCK=triton.next_power_of_2(width))
    elif x.dtype == torch.float32:
        normalise_float(x, weight, out, rows, width)
    elif x.dtype == torch.float16:
        normalise_half(x, weight, out, rows, width)
    else:
        normalise_bfloat16(x, weight, out, rows, width)
    return out
