import torch

from passnet import kernels


def pattern(x):
    return x.sum(-1)


def replacement_args(x):
    return (x,)


SOURCE = r"""
#define FOR_EACH(i, n) \
    for (int64_t i = threadIdx.x; i < (n); i += blockDim.x)

extern __shared__ float partial[];

__global__ void row_sum(const float* __restrict__ x, float* __restrict__ out, int64_t cols) {
    const float* row = x + blockIdx.x * cols;
    float sum = 0.0f;
    FOR_EACH(i, cols) sum += __ldg(row + i);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
"""
row_sum = kernels.cuda(SOURCE, "void row_sum(const float* x, float* out, int64_t cols)")
THREADS = 128


def fused(x):
    kernels.require(x, dtype=torch.float32)
    out = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
    row_sum[(out.numel(),), (THREADS,), THREADS * 4](x, out, x.shape[-1])
    return out


def replacement_func():
    return fused
