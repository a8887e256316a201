"""Box decoding of FCOS: distances from the centre of an anchor to the four sides of the box."""

import torch
import triton
import triton.language as tl

from passnet import kernels


def pattern(distances, boxes):
    x = 0.5 * (boxes[..., 0] + boxes[..., 2])
    y = 0.5 * (boxes[..., 1] + boxes[..., 3])
    width = boxes[..., 2] - boxes[..., 0]
    height = boxes[..., 3] - boxes[..., 1]
    sides = distances * torch.stack((width, height, width, height), dim=-1)
    left = x - sides[..., 0]
    top = y - sides[..., 1]
    right = x + sides[..., 2]
    bottom = y + sides[..., 3]
    return torch.stack((left, top, right, bottom), dim=-1)


def replacement_args(distances, boxes):
    return (distances, boxes)


def replacement_func():
    return decode


SOURCE = """
void decode(const float* distances, const float* boxes, float* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float* box = boxes + 4 * i;
        const float* side = distances + 4 * i;
        float x = 0.5f * (box[0] + box[2]), y = 0.5f * (box[1] + box[3]);
        float width = box[2] - box[0], height = box[3] - box[1];
        out[4 * i] = x - side[0] * width;
        out[4 * i + 1] = y - side[1] * height;
        out[4 * i + 2] = x + side[2] * width;
        out[4 * i + 3] = y + side[3] * height;
    }
}
"""
decode_boxes = kernels.cpp(SOURCE, "void decode(const float* distances, const float* boxes, float* out, int64_t count)")


@triton.jit
def decode_kernel(distances, boxes, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    box = boxes + 4 * i
    side = distances + 4 * i
    x0 = tl.load(box, mask=inside)
    y0 = tl.load(box + 1, mask=inside)
    x1 = tl.load(box + 2, mask=inside)
    y1 = tl.load(box + 3, mask=inside)
    x = 0.5 * (x0 + x1)
    y = 0.5 * (y0 + y1)
    tl.store(out + 4 * i, x - tl.load(side, mask=inside) * (x1 - x0), mask=inside)
    tl.store(out + 4 * i + 1, y - tl.load(side + 1, mask=inside) * (y1 - y0), mask=inside)
    tl.store(out + 4 * i + 2, x + tl.load(side + 2, mask=inside) * (x1 - x0), mask=inside)
    tl.store(out + 4 * i + 3, y + tl.load(side + 3, mask=inside) * (y1 - y0), mask=inside)


@kernels.prepared
def decode(distances, boxes):
    kernels.require(distances, boxes, dtype=torch.float32, shape=(*boxes.shape[:-1], 4))
    out = torch.empty_like(boxes)
    count = boxes.numel() // 4
    if boxes.is_cuda:
        decode_kernel[(triton.cdiv(count, 256),)](distances, boxes, out, count, BLOCK=256)
    else:
        decode_boxes(distances, boxes, out, count)
    return out
