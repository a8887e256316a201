"""Relative position buckets of T5: seventeen operations on integers become one loop."""

import torch
import triton
import triton.language as tl

from passnet import kernels


def pattern(position):
    side = 0 + (position > 0).to(torch.int64) * 16
    distance = torch.abs(position)
    near = distance < 8
    far = 8 + (torch.log(distance.float() / 8) / 2.772588722239781 * 8).to(torch.int64)
    far = torch.min(far, torch.full_like(far, 15))
    side += torch.where(near, distance, far)
    return side


def replacement_args(position):
    return (position,)


def replacement_func():
    return buckets


# The bucket only grows with the distance, so that it is the number of thresholds that the distance has reached. The
# thresholds come from the formula itself: one logarithm per candidate instead of one per element.
SOURCE = """
int64_t far_bucket(int64_t distance) {
    return 8 + static_cast<int64_t>(std::log(static_cast<float>(distance) / 8) / 2.772588722239781f * 8);
}

void buckets(const int64_t* position, int64_t* out, int64_t count) {
    int64_t threshold[7];
    int64_t distance = 8;
    for (int64_t k = 0; k < 7; ++k) {
        while (far_bucket(distance) < 9 + k) ++distance;
        threshold[k] = distance;
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t p = position[i];
        int64_t d = p < 0 ? -p : p;
        int64_t bucket = 8;
        for (int64_t k = 0; k < 7; ++k) bucket += d >= threshold[k];
        out[i] = (d < 8 ? d : bucket) + (p > 0 ? 16 : 0);
    }
}
"""
count_buckets = kernels.cpp(SOURCE, "void buckets(const int64_t* position, int64_t* out, int64_t count)")


@triton.jit
def buckets_kernel(position_ptr, out_ptr, count, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    position = tl.load(position_ptr + i, mask=inside, other=1)
    distance = tl.abs(position)
    # The logarithm of zero is not needed: near distances take the other branch.
    ratio = tl.maximum(distance, 1).to(tl.float32) / 8
    far = 8 + (tl.log(ratio) / 2.772588722239781 * 8).to(tl.int64)
    bucket = tl.where(distance < 8, distance, tl.minimum(far, 15))
    tl.store(out_ptr + i, bucket + tl.where(position > 0, 16, 0), mask=inside)


@kernels.prepared
def buckets(position):
    kernels.require(position, dtype=torch.int64)
    out = torch.empty_like(position)
    count = position.numel()
    if position.is_cuda:
        buckets_kernel[(triton.cdiv(count, 1024),)](position, out, count, BLOCK=1024)
    else:
        count_buckets(position, out, count)
    return out
