import torch
import triton
import triton.language as tl


def pattern(x, weight, bias):
    return torch.nn.functional.layer_norm(x, (64,), weight, bias, 1e-05)


def replacement_args(x, weight, bias):
    return (x, weight, bias)


@triton.jit
def kernel(x_ptr, w_ptr, b_ptr, out_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < width
    x = tl.load(x_ptr + row * width + i, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / width
    centred = tl.where(mask, x - mean, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / width + eps)
    out = centred * inverse * tl.load(w_ptr + i, mask=mask) + tl.load(b_ptr + i, mask=mask)
    tl.store(out_ptr + row * width + i, out, mask=mask)


def fused(x, weight, bias):
    out = torch.empty_like(x)
    kernel[(x.shape[0],)](x, weight, bias, out, x.shape[1], 1e-05, BLOCK=64)
    return out


def replacement_func():
    return fused
