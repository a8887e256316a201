import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
struct ReluAdd {
    __device__ __forceinline__ float operator()(float a, float b) const { return (a < 0.0f ? 0.0f : a) + b; }
};

template <typename Op>
__device__ __forceinline__ float4 apply(const Op& op, const float4& a, const float4& b) {
    return make_float4(op(a.x, b.x), op(a.y, b.y), op(a.z, b.z), op(a.w, b.w));
}

__global__ void __launch_bounds__(256) vectorized(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, int64_t n) {
    const int64_t tid = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    const float4* y4 = reinterpret_cast<const float4*>(y);
    float4* out4 = reinterpret_cast<float4*>(out);
    ReluAdd op;
    for (int64_t i = tid; i < n / 4; i += stride) {
        out4[i] = apply(op, __ldg(x4 + i), __ldg(y4 + i));
    }
    for (int64_t i = n / 4 * 4 + tid; i < n; i += stride) out[i] = op(x[i], y[i]);
}
"""
vectorized = kernels.cuda(SOURCE, "void vectorized(const float* x, const float* y, float* out, int64_t n)", flags=["--use_fast_math"])


def relu_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    vectorized[(max(1, (n // 4 + 255) // 256),), (256,)](x, y, out, n)
    return out


def replacement_func():
    return relu_add
