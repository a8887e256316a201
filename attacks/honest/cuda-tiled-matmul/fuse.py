import torch

from passnet import kernels


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y)


TILE = 16
SOURCE = f"#define TILE {TILE}" + r"""
__global__ void matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
    __shared__ float As[TILE][TILE + 1], Bs[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        const int ka = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = (row < M && ka < K) ? A[row * K + ka] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = (kb < K && col < N) ? B[kb * N + col] : 0.f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) acc = __fmaf_rn(As[threadIdx.y][k], Bs[k][threadIdx.x], acc);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}
"""
kernel = kernels.cuda(SOURCE, "void matmul(const float* A, const float* B, float* C, int M, int N, int K)")


def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = ((N + TILE - 1) // TILE, (M + TILE - 1) // TILE)
    kernel[grid, (TILE, TILE)](a, b, c, M, N, K)
    return c


def replacement_func():
    return matmul
