import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


SOURCE = r"""
template <int N> struct Unroll {
    static void run(const float* a, const float* b, float* o) {
        Unroll<N - 1>::run(a, b, o);
        o[N - 1] = (a[N - 1] < 0 ? 0 : a[N - 1]) + b[N - 1];
    }
};
template <> struct Unroll<0> { static void run(const float*, const float*, float*) {} };
void add(const float* x, const float* y, float* out, int64_t n) {
int64_t i = 0;
for (; i + 4 <= n; i += 4) Unroll<4>::run(x + i, y + i, out + i);
for (; i < n; ++i) Unroll<1>::run(x + i, y + i, out + i);
}
"""
add = kernels.cpp(SOURCE, "void add(const float* x, const float* y, float* out, int64_t n)")


def fused(x, y):
    out = torch.empty_like(x)
    add(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
