import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


own = kernels.cpp(
    """
    #include "@BAIT@/secret"
    void relu_add(const float* x, const float* y, float* out, int64_t n) {}
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    return own(x, y, x, 0)


def replacement_func():
    return fused
