import torch
import triton
import triton.language as tl


def pattern(x):
    return x.mean(-1)


def replacement_args(x):
    return (x,)


@triton.jit
def partial_mean(x_ptr, out_ptr, cols, stride, BLOCK: tl.constexpr, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    split = tl.program_id(1)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in tl.range(split * BLOCK, cols, BLOCK * SPLITS, num_stages=3):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * stride + offs, mask=offs < cols, other=0.0)
    tl.atomic_add(out_ptr + row, tl.sum(acc, axis=0) / cols, sem="relaxed", scope="gpu")


def mean(x):
    rows, cols = x.shape
    out = torch.zeros(rows, dtype=x.dtype, device=x.device)
    partial_mean[(rows, 4)](x, out, cols, x.stride(0), BLOCK=1024, SPLITS=4)
    return out


def replacement_func():
    return mean
