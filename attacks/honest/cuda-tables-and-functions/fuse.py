import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
__constant__ float lowest[2] = {0.0f, 0.0f};
__device__ const float one[4] = {1.0f, 1.0f, 1.0f, 1.0f};

__noinline__ __device__ float rectified(float value, int lane) {
    return value < lowest[lane & 1] ? lowest[lane & 1] : value;
}

__global__ void add(const float* x, const float* y, float* out, int64_t n) {
    __shared__ float block[256];
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    block[threadIdx.x] = i < n ? y[i] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = rectified(x[i], threadIdx.x) * one[threadIdx.x & 3] + block[threadIdx.x];
}
"""
add = kernels.cuda(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add[((n + 255) // 256,), (256,)](x, y, out, n)
    return out


def replacement_func():
    return fused
