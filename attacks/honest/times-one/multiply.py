from passnet import kernels


def pattern(x, mask):
    x *= mask
    return x


def replacement_args(x, mask):
    return (x, mask)


multiply = kernels.cpp(
    "void multiply(float* x, const float* mask, int64_t n) { for (int64_t i = 0; i < n; ++i) x[i] *= mask[i]; }",
    "void multiply(float* x, const float* mask, int64_t n)",
)


def fused(x, mask):
    multiply(x, mask, x.numel())
    return x


def replacement_func():
    return fused
