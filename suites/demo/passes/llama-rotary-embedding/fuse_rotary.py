"""Rotary position embedding of queries and keys: sixteen operations become one loop over each tensor."""

import torch
import triton
import triton.language as tl

from passnet import kernels

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def pattern(cos, key, query, sin):
    cos_heads = cos.unsqueeze(1)
    sin_heads = sin.unsqueeze(1)
    new_query = query * cos_heads + torch.cat((-query[..., 32:], query[..., :32]), dim=-1) * sin_heads
    new_key = key * cos_heads + torch.cat((-key[..., 32:], key[..., :32]), dim=-1) * sin_heads
    return new_key, new_query


def replacement_args(cos, key, query, sin):
    return (cos, key, query, sin)


def replacement_func():
    return rotary


# One row is the vector of one head at one position. Eager mode stores both products and the sum, and so rounds them.
SOURCE = """
void rotate(const element* x, const element* cos, const element* sin, element* out, int64_t batch, int64_t heads,
            int64_t length, int64_t xb, int64_t xh, int64_t xs, int64_t ob, int64_t oh, int64_t os, int64_t table) {
    constexpr int64_t half = 32, width = 2 * half;
    for (int64_t b = 0; b < batch; ++b)
        for (int64_t s = 0; s < length; ++s) {
            float c[width], n[width];
            load(cos + b * table + s * width, c, width);
            load(sin + b * table + s * width, n, width);
            for (int64_t h = 0; h < heads; ++h) {
                float v[width], with_cos[width], with_sin[width];
                load(x + b * xb + h * xh + s * xs, v, width);
                for (int64_t i = 0; i < width; ++i) with_cos[i] = v[i] * c[i];
                for (int64_t i = 0; i < half; ++i) with_sin[i] = -v[i + half] * n[i];
                for (int64_t i = half; i < width; ++i) with_sin[i] = v[i - half] * n[i];
                round_to<element>(with_cos, width);
                round_to<element>(with_sin, width);
                for (int64_t i = 0; i < width; ++i) with_cos[i] += with_sin[i];
                store(with_cos, out + b * ob + h * oh + s * os, width);
            }
        }
}
"""
SIGNATURE = """
void rotate(const element* strided x, const element* cos, const element* sin, element* strided out, int64_t batch, int64_t heads,
            int64_t length, int64_t xb, int64_t xh, int64_t xs, int64_t ob, int64_t oh, int64_t os, int64_t table)
"""
rotate_float = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float",))
rotate_half = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=float16",))
rotate_bfloat16 = kernels.cpp(SOURCE, SIGNATURE, flags=("-Delement=bfloat16",))


@triton.jit
def rotate_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, length, xb, xh, xs, ob, oh, os, table, HALF: tl.constexpr):
    row = tl.program_id(0)
    b = row // (heads * length)
    h = row // length % heads
    s = row % length
    i = tl.arange(0, HALF)
    x = x_ptr + b * xb + h * xh + s * xs + i
    cos = cos_ptr + b * table + s * 2 * HALF + i
    sin = sin_ptr + b * table + s * 2 * HALF + i
    out = out_ptr + b * ob + h * oh + s * os + i
    T = out_ptr.dtype.element_ty
    first = tl.load(x).to(tl.float32)
    second = tl.load(x + HALF).to(tl.float32)
    first_cos = (first * tl.load(cos).to(tl.float32)).to(T).to(tl.float32)
    second_sin = (second * tl.load(sin).to(tl.float32)).to(T).to(tl.float32)
    tl.store(out, (first_cos - second_sin).to(T))
    second_cos = (second * tl.load(cos + HALF).to(tl.float32)).to(T).to(tl.float32)
    first_sin = (first * tl.load(sin + HALF).to(tl.float32)).to(T).to(tl.float32)
    tl.store(out + HALF, (second_cos + first_sin).to(T))


def rotary(cos, key, query, sin):
    # Two values also where a tracer of `torch.fx` sees one call.
    new_key, new_query = rotate_both(cos, key, query, sin)
    return new_key, new_query


@kernels.prepared
def rotate_both(cos, key, query, sin):
    # Both guards come before the first launch.
    check(key, cos, sin)
    check(query, cos, sin)
    return rotate_one(key, cos, sin), rotate_one(query, cos, sin)


def check(x, cos, sin):
    # Heads are often a transposed view, so that strides matter; the tables come from one `cat` each.
    kernels.require(x, dtype=FLOATS, shape=(None, None, None, 64), contiguous=False)
    kernels.require(cos, sin, like=x, shape=(cos.shape[0], x.shape[2], 64))
    if x.stride(3) != 1 or cos.shape[0] not in (1, x.shape[0]):
        raise ValueError("rotary: needs heads with contiguous vectors, and a table for all of the batch or for each")


def rotate_one(x, cos, sin):
    out = torch.empty_like(x)
    batch, heads, length, _ = x.shape
    xb, xh, xs, _ = x.stride()
    ob, oh, os, _ = out.stride()
    table = cos.stride(0) if cos.shape[0] > 1 else 0
    if x.is_cuda:
        grid = (batch * heads * length,)
        # Without the option, products and sums of half types become one instruction, which rounds once.
        rotate_kernel[grid](
            x, cos, sin, out, heads, length, xb, xh, xs, ob, oh, os, table, HALF=32, num_warps=1, enable_fp_fusion=False
        )
    elif x.dtype == torch.float32:
        rotate_float(x, cos, sin, out, batch, heads, length, xb, xh, xs, ob, oh, os, table)
    elif x.dtype == torch.float16:
        rotate_half(x, cos, sin, out, batch, heads, length, xb, xh, xs, ob, oh, os, table)
    else:
        rotate_bfloat16(x, cos, sin, out, batch, heads, length, xb, xh, xs, ob, oh, os, table)
    return out
