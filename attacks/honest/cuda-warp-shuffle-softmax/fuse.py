import torch

from passnet import kernels


def pattern(x):
    return torch.nn.functional.softmax(x, dim=-1)


def replacement_args(x):
    return (x,)


SOURCE = r"""
#define WARP_SIZE 32
#define FULL_MASK 0xffffffffu

template <typename T>
__device__ __forceinline__ T warp_reduce_max(T val) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) val = fmaxf(val, __shfl_xor_sync(FULL_MASK, val, offset));
    return val;
}

template <typename T>
__device__ __forceinline__ T warp_reduce_sum(T val) {
#pragma unroll
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) val += __shfl_xor_sync(FULL_MASK, val, offset, WARP_SIZE);
    return val;
}

__global__ void softmax_warp(const float* x, float* out, int64_t rows, int64_t cols) {
    const int64_t row = blockIdx.x * (int64_t)blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float max_val = -__int_as_float(0x7f800000);
    for (int64_t c = threadIdx.x; c < cols; c += WARP_SIZE) max_val = fmaxf(max_val, x[row * cols + c]);
    max_val = warp_reduce_max(max_val);
    float sum = 0.0f;
    for (int64_t c = threadIdx.x; c < cols; c += WARP_SIZE) sum += __expf(x[row * cols + c] - max_val);
    sum = warp_reduce_sum(sum);
    for (int64_t c = threadIdx.x; c < cols; c += WARP_SIZE) out[row * cols + c] = __expf(x[row * cols + c] - max_val) / sum;
}
"""
softmax_warp = kernels.cuda(SOURCE, "void softmax_warp(const float* x, float* out, int64_t rows, int64_t cols)")


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_warp[((rows + 3) // 4,), (32, 4)](x, out, rows, cols)
    return out


def replacement_func():
    return softmax
