import torch
import triton
import triton.language as tl


def pattern(x, w, b):
    return torch.nn.functional.layer_norm(x, (64,), w, b, 1e-05)


def replacement_args(x, w, b):
    return (x, w, b)


@triton.jit
def welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    new_weight = weight_1 + weight_2
    w2_over_w = tl.where(new_weight == 0.0, 0.0, weight_2 / new_weight)
    return mean_1 + delta * w2_over_w, m2_1 + m2_2 + delta * delta * weight_1 * w2_over_w, new_weight


@triton.jit
def layer_norm_fwd(X, Y, W, B, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean, m2, weight = tl.reduce((x, tl.zeros_like(x), mask.to(tl.float32)), 0, welford_combine)
    rstd = tl.rsqrt(m2 / N + eps)
    w = tl.load(W + cols, mask=mask)
    b = tl.load(B + cols, mask=mask)
    tl.store(Y + row * stride + cols, (x - mean) * rstd * w + b, mask=mask)


def layer_norm(x, w, b, eps=1e-5):
    N = x.shape[-1]
    y = torch.empty_like(x)
    x_arg = x.reshape(-1, N)
    M, N = x_arg.shape
    # Less than 64 KiB per feature: one block holds a row.
    BLOCK_SIZE = min(65536 // x.element_size(), triton.next_power_of_2(N))
    if N > BLOCK_SIZE:
        raise RuntimeError("This layer norm doesn't support feature dim >= 64KB.")
    num_warps = min(max(BLOCK_SIZE // 256, 1), 8)
    layer_norm_fwd[(M,)](x_arg, y, w, b, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps, num_ctas=1)
    return y


def replacement_func():
    return layer_norm
