"""The kernels of this directory: softmax over scaled and masked attention scores."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# One row is the scores of one query. The scaled scores and the masked ones are rounded, as eager mode stores them. Rows may
# be short, so that what does not depend on the row is done for a group of them.
SOURCE = """
void masked_softmax(const element* scores, const element* mask, element* out, int64_t batch, int64_t heads,
                    int64_t queries, int64_t width, int64_t mb, int64_t mh, int64_t mq, float scale) {
    const int64_t rows = batch * heads * queries, group = std::max<int64_t>(1, 1024 / width);
    std::vector<float> score(group * width), buffer(group * width);
    float* v = score.data();
    for (int64_t first = 0; first < rows; first += group) {
        const int64_t members = std::min(group, rows - first), count = members * width;
        const float* from = read(scores + first * width, buffer.data(), count);
        for (int64_t i = 0; i < count; ++i) v[i] = from[i] * scale;
        round_to<element>(v, count);
        for (int64_t k = 0; k < members; ++k) {
            const int64_t row = first + k, b = row / (heads * queries), h = row / queries % heads, q = row % queries;
            const float* added = read(mask + b * mb + h * mh + q * mq, buffer.data(), width);
            for (int64_t i = 0; i < width; ++i) v[k * width + i] += added[i];
        }
        round_to<element>(v, count);
        for (int64_t k = 0; k < members; ++k) {
            float* row = v + k * width;
            const float top = row_max(row, width);
            for (int64_t i = 0; i < width; ++i) row[i] = fast_exp(row[i] - top);
            const float inverse = 1.0f / row_sum(row, width);
            for (int64_t i = 0; i < width; ++i) row[i] *= inverse;
        }
        store(v, out + first * width, count);
    }
}
"""
SIGNATURE = """
void masked_softmax(const element* scores, const element* strided mask, element* out, int64_t batch, int64_t heads,
                    int64_t queries, int64_t width, int64_t mb, int64_t mh, int64_t mq, float scale)
"""
softmax_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
softmax_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
softmax_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def softmax_kernel(scores_ptr, mask_ptr, out_ptr, heads, queries, width, mb, mh, mq, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    b = row // (heads * queries)
    h = row // queries % heads
    q = row % queries
    i = tl.arange(0, BLOCK)
    inside = i < width
    T = out_ptr.dtype.element_ty
    at = row.to(tl.int64) * width + i
    scores = (tl.load(scores_ptr + at, mask=inside, other=0.0).to(tl.float32) * scale).to(T).to(tl.float32)
    mask = tl.load(mask_ptr + b * mb + h * mh + q * mq + i, mask=inside, other=0.0).to(tl.float32)
    masked = tl.where(inside, (scores + mask).to(T).to(tl.float32), float("-inf"))
    power = tl.exp(masked - tl.max(masked, axis=0))
    tl.store(out_ptr + at, (power / tl.sum(power, axis=0)).to(T), mask=inside)


@kernels.prepared
def masked_softmax(scores, mask, scale):
    kernels.require(scores, dtype=FLOATS, shape=(None, None, None, None))
    kernels.require(mask, like=scores, shape=(None, None, None, scores.shape[3]), contiguous=False)
    is_broadcast = all(mask.shape[dim] in (1, scores.shape[dim]) for dim in range(3))
    if mask.stride(3) != 1 or not is_broadcast:
        raise ValueError("masked_softmax: needs a mask that is broadcast to the scores, but not along its rows")
    out = torch.empty_like(scores)
    batch, heads, queries, width = scores.shape
    # Along a dimension of size one the mask is the same for all.
    mb = mask.stride(0) if mask.shape[0] > 1 else 0
    mh = mask.stride(1) if mask.shape[1] > 1 else 0
    mq = mask.stride(2) if mask.shape[2] > 1 else 0
    if scores.is_cuda:
        grid = (batch * heads * queries,)
        block = triton.next_power_of_2(width)
        softmax_kernel[grid](scores, mask, out, heads, queries, width, mb, mh, mq, scale, BLOCK=block)
    elif scores.dtype == torch.float32:
        softmax_float(scores, mask, out, batch, heads, queries, width, mb, mh, mq, scale)
    elif scores.dtype == torch.float16:
        softmax_half(scores, mask, out, batch, heads, queries, width, mb, mh, mq, scale)
    else:
        softmax_bfloat16(scores, mask, out, batch, heads, queries, width, mb, mh, mq, scale)
    return out
