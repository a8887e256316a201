"""The kernels of this directory: predicted offsets, applied to the centres and sizes of anchor boxes."""

import torch
import triton
import triton.language as tl

from passnet import kernels

# An anchor has `classes` predictions of four numbers: two shifts of its centre and two logarithms of scales.
SOURCE = """
void apply(const float* codes, const float* x, const float* y, const float* height, const float* width, float* new_x,
           float* new_y, float* new_height, float* new_width, int64_t anchors, int64_t classes, float shift, float scale) {
    constexpr float limit = 4.135166556742356f;
    constexpr int64_t block = 64;
    const int64_t count = anchors * classes;
    for (int64_t start = 0; start < count; start += block) {
        // Scattered elements are gathered first; the arithmetic is then vector code.
        const int64_t n = std::min(block, count - start);
        float dx[block], dy[block], dw[block], dh[block], ax[block], ay[block], aw[block], ah[block];
        for (int64_t i = 0; i < n; ++i) {
            const float* code = codes + 4 * (start + i);
            const int64_t a = (start + i) / classes;
            dx[i] = code[0], dy[i] = code[1], dw[i] = code[2], dh[i] = code[3];
            ax[i] = x[a], ay[i] = y[a], aw[i] = width[a], ah[i] = height[a];
        }
        for (int64_t i = 0; i < n; ++i) {
            new_x[start + i] = dx[i] / shift * aw[i] + ax[i];
            new_y[start + i] = dy[i] / shift * ah[i] + ay[i];
        }
        for (int64_t i = 0; i < n; ++i) {
            float wider = dw[i] / scale, higher = dh[i] / scale;
            new_width[start + i] = fast_exp(wider > limit ? limit : wider) * aw[i];
            new_height[start + i] = fast_exp(higher > limit ? limit : higher) * ah[i];
        }
    }
}
"""
SIGNATURE = """
void apply(const float* codes, const float* x, const float* y, const float* height, const float* width, float* new_x,
           float* new_y, float* new_height, float* new_width, int64_t anchors, int64_t classes, float shift, float scale)
"""
apply = kernels.cpp(SOURCE, SIGNATURE)


@triton.jit
def apply_kernel(
    codes, x, y, height, width, new_x, new_y, new_height, new_width, count, classes, shift, scale, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    anchor = i // classes
    w = tl.load(width + anchor, mask=inside)
    h = tl.load(height + anchor, mask=inside)
    code = codes + 4 * i
    tl.store(new_x + i, tl.load(code, mask=inside) / shift * w + tl.load(x + anchor, mask=inside), mask=inside)
    tl.store(new_y + i, tl.load(code + 1, mask=inside) / shift * h + tl.load(y + anchor, mask=inside), mask=inside)
    # Not `tl.minimum`, which drops NaN.
    wider = tl.load(code + 2, mask=inside) / scale
    wider = tl.where(wider > 4.135166556742356, 4.135166556742356, wider)
    higher = tl.load(code + 3, mask=inside) / scale
    higher = tl.where(higher > 4.135166556742356, 4.135166556742356, higher)
    tl.store(new_width + i, tl.exp(wider) * w, mask=inside)
    tl.store(new_height + i, tl.exp(higher) * h, mask=inside)


def box_deltas(codes, x, y, height, width, shift, scale):
    # Four values also where a tracer of `torch.fx` sees one call.
    new_x, new_y, new_height, new_width = apply_deltas(codes, x, y, height, width, shift, scale)
    return new_x, new_y, new_height, new_width


@kernels.prepared
def apply_deltas(codes, x, y, height, width, shift, scale):
    kernels.require(codes, dtype=torch.float32, shape=(None, None))
    kernels.require(x, y, height, width, like=codes, shape=codes.shape[:1])
    anchors, classes = codes.shape[0], codes.shape[1] // 4
    if codes.shape[1] != 4 * classes:
        raise ValueError("box_deltas: needs four codes for each class")
    new_x = torch.empty((anchors, classes), device=codes.device)
    new_y = torch.empty_like(new_x)
    new_height = torch.empty_like(new_x)
    new_width = torch.empty_like(new_x)
    if codes.is_cuda:
        count = anchors * classes
        grid = (triton.cdiv(count, 256),)
        apply_kernel[grid](
            codes, x, y, height, width, new_x, new_y, new_height, new_width, count, classes, shift, scale, BLOCK=256
        )
    else:
        apply(codes, x, y, height, width, new_x, new_y, new_height, new_width, anchors, classes, shift, scale)
    return new_x, new_y, new_height, new_width
