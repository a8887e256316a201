"""The kernels of this directory: RMS normalisation as Llama computes it."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# Statistics are in float32; the normalised value is stored in the type of the input before it meets the weight.
SOURCE = """
void normalise(const element* x, const element* weight, element* out, int64_t rows, int64_t width, float eps) {
    std::vector<float> scale(width), row(width), square(width);
    load(weight, scale.data(), width);
    for (int64_t r = 0; r < rows; ++r) {
        float* v = row.data();
        const float* from = read(x + r * width, v, width);
        for (int64_t i = 0; i < width; ++i) square[i] = from[i] * from[i];
        float inverse = 1.0f / std::sqrt(row_sum(square.data(), width) / width + eps);
        for (int64_t i = 0; i < width; ++i) v[i] = from[i] * inverse;
        round_to<element>(v, width);
        for (int64_t i = 0; i < width; ++i) v[i] *= scale[i];
        store(v, out + r * width, width);
    }
}
"""
SIGNATURE = """
void normalise(const element* x, const element* weight, element* out, int64_t rows, int64_t width, float eps)
"""
normalise_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
normalise_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
normalise_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def normalise_kernel(x_ptr, weight_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    i = tl.arange(0, BLOCK)
    inside = i < width
    x = tl.load(x_ptr + row + i, mask=inside, other=0.0).to(tl.float32)
    inverse = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / width + eps)
    T = out_ptr.dtype.element_ty
    normal = (x * inverse).to(T).to(tl.float32)
    weight = tl.load(weight_ptr + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row + i, (normal * weight).to(T), mask=inside)


@kernels.prepared
def rms_norm(weight, x, eps):
    kernels.require(x, dtype=FLOATS)
    kernels.require(weight, like=x, shape=x.shape[-1:])
    out = torch.empty_like(x)
    width = x.shape[-1]
    rows = x.numel() // width
    if x.is_cuda:
        normalise_kernel[(rows,)](x, weight, out, width, eps, BLOCK=triton.next_power_of_2(width))
    elif x.dtype == torch.float32:
        normalise_float(x, weight, out, rows, width, eps)
    elif x.dtype == torch.float16:
        normalise_half(x, weight, out, rows, width, eps)
    else:
        normalise_bfloat16(x, weight, out, rows, width, eps)
    return out
