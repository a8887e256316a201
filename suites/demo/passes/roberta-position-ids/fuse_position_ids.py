"""Position ids of RoBERTa: tokens are counted from the left, padding (token 1) keeps position 1."""

import torch
import triton
import triton.language as tl

from passnet import kernels


def pattern(tokens):
    mask = tokens.ne(1).int()
    positions = (torch.cumsum(mask, dim=1).type_as(mask) + 0) * mask
    return positions.long() + 1


def replacement_args(tokens):
    return (tokens,)


def replacement_func():
    return position_ids


SOURCE = """
void number(const int64_t* tokens, int64_t* out, int64_t rows, int64_t length) {
    for (int64_t r = 0; r < rows; ++r) {
        int64_t position = 0;
        for (int64_t i = r * length; i < (r + 1) * length; ++i) {
            int64_t counts = tokens[i] != 1;
            position += counts;
            out[i] = position * counts + 1;
        }
    }
}
"""
number = kernels.cpp(SOURCE, "void number(const int64_t* tokens, int64_t* out, int64_t rows, int64_t length)")


@triton.jit
def number_kernel(tokens_ptr, out_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0) * length
    i = tl.arange(0, BLOCK)
    inside = i < length
    counts = (tl.load(tokens_ptr + row + i, mask=inside, other=1) != 1).to(tl.int64)
    tl.store(out_ptr + row + i, tl.cumsum(counts, axis=0) * counts + 1, mask=inside)


@kernels.prepared
def position_ids(tokens):
    kernels.require(tokens, dtype=torch.int64, shape=(None, None))
    out = torch.empty_like(tokens)
    rows, length = tokens.shape
    if tokens.is_cuda:
        number_kernel[(rows,)](tokens, out, length, BLOCK=triton.next_power_of_2(length))
    else:
        number(tokens, out, rows, length)
    return out
