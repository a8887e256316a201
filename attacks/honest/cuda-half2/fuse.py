import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.silu(x, inplace=False) * y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
#include <cuda_fp16.h>

__device__ __forceinline__ float silu(float v) { return v / (1.0f + expf(-v)); }

__global__ void silu_mul(const uint16_t* x, const uint16_t* y, uint16_t* out, int64_t pairs) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    const float2 v = __half22float2(reinterpret_cast<const __half2*>(x)[i]);
    // PyTorch rounds the result of each operation to half.
    const __half2 gate = __floats2half2_rn(silu(v.x), silu(v.y));
    reinterpret_cast<__half2*>(out)[i] = __hmul2(gate, reinterpret_cast<const __half2*>(y)[i]);
}
"""
silu_mul = kernels.cuda(SOURCE, "void silu_mul(const uint16_t* x, const uint16_t* y, uint16_t* out, int64_t pairs)")


def fused(x, y):
    kernels.require(x, y, dtype=torch.float16, shape=x.shape)
    out = torch.empty_like(x)
    pairs = x.numel() // 2
    silu_mul[((pairs + 127) // 128,), (128,)](x, y, out, pairs)
    return out


def replacement_func():
    return fused
