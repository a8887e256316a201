"""The end of a residual block: normalisation with stored statistics, the residual added in place, ReLU in place."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def pattern(mean, variance, bias, weight, x, residual):
    y = torch.nn.functional.batch_norm(x, mean, variance, weight, bias, False, 0.1, 1e-05)
    y += residual
    return torch.nn.functional.relu(y, inplace=True)


def replacement_args(mean, variance, bias, weight, x, residual):
    return (mean, variance, bias, weight, x, residual)


def replacement_func():
    return bn_add_relu


# Scale and shift belong to a channel. They are spread over a row that is one channel of an image or, where those are so
# small that loops over them would mostly consist of their ends, a whole image. Values and sums are rounded as eager mode
# stores them; blocks of 256 stay in the first-level cache.
SOURCE = """
void bn_add_relu(const element* mean, const element* variance, const element* bias, const element* weight,
                 const element* x, const element* residual, element* out, int64_t images, int64_t channels, int64_t plane) {
    constexpr int64_t block = 256;
    const bool whole = plane < block;
    const int64_t width = whole ? channels * plane : plane, rows = images * channels * plane / width;
    std::vector<float> scale(whole ? width : block), shift(scale.size());
    for (int64_t row = 0; row < rows; ++row) {
        // All channels at once, or the one of this row.
        const int64_t first = whole ? 0 : row % channels, last = whole ? channels : first + 1;
        for (int64_t c = first; c < last && (row == 0 || !whole); ++c) {
            float factor = 1.0f / std::sqrt(variance[c] + 1e-5f) * weight[c];
            std::fill_n(scale.data() + (c - first) * plane, std::min(plane, block), factor);
            std::fill_n(shift.data() + (c - first) * plane, std::min(plane, block), multiply_add(-mean[c], factor, bias[c]));
        }
        for (int64_t start = 0; start < width; start += block) {
            int64_t n = std::min(block, width - start), at = row * width + start;
            const float *s = scale.data() + (whole ? start : 0), *t = shift.data() + (whole ? start : 0);
            float v[block], buffer[block];
            const float* from = read(x + at, buffer, n);
            for (int64_t i = 0; i < n; ++i) v[i] = multiply_add(from[i], s[i], t[i]);
            round_to<element>(v, n);
            const float* added = read(residual + at, buffer, n);
            for (int64_t i = 0; i < n; ++i) {
                float sum = v[i] + added[i];
                v[i] = sum < 0 ? 0 : sum;
            }
            store(v, out + at, n);
        }
    }
}
"""
SIGNATURE = """
void bn_add_relu(const element* mean, const element* variance, const element* bias, const element* weight,
                 const element* x, const element* residual, element* out, int64_t images, int64_t channels, int64_t plane)
"""
bn_add_relu_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
bn_add_relu_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
bn_add_relu_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def bn_add_relu_kernel(
    mean_ptr,
    variance_ptr,
    bias_ptr,
    weight_ptr,
    x_ptr,
    residual_ptr,
    out_ptr,
    count,
    channels,
    plane,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    c = i // plane % channels
    T = out_ptr.dtype.element_ty
    variance = tl.load(variance_ptr + c, mask=inside, other=1.0).to(tl.float32)
    scale = tl.load(weight_ptr + c, mask=inside, other=0.0).to(tl.float32) / tl.sqrt(variance + 1e-5)
    mean = tl.load(mean_ptr + c, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + c, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + i, mask=inside, other=0.0).to(tl.float32)
    # In the order of the CUDA kernel of eager mode, which is not that of the CPU.
    normal = ((x - mean) * scale + bias).to(T).to(tl.float32)
    total = normal + tl.load(residual_ptr + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + i, tl.where(total < 0, 0.0, total).to(T), mask=inside)


@kernels.prepared
def bn_add_relu(mean, variance, bias, weight, x, residual):
    kernels.require(x, dtype=FLOATS, shape=(None, None, None, None))
    kernels.require(residual, like=x, shape=x.shape)
    kernels.require(mean, variance, bias, weight, like=x, shape=x.shape[1:2])
    out = torch.empty_like(x)
    images, channels, height, width = x.shape
    plane = height * width
    if x.is_cuda:
        grid = (triton.cdiv(x.numel(), 1024),)
        bn_add_relu_kernel[grid](mean, variance, bias, weight, x, residual, out, x.numel(), channels, plane, BLOCK=1024)
    elif x.dtype == torch.float32:
        bn_add_relu_float(mean, variance, bias, weight, x, residual, out, images, channels, plane)
    elif x.dtype == torch.float16:
        bn_add_relu_half(mean, variance, bias, weight, x, residual, out, images, channels, plane)
    else:
        bn_add_relu_bfloat16(mean, variance, bias, weight, x, residual, out, images, channels, plane)
    return out
