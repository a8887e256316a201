import torch

from passnet import kernels


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


own = kernels.cpp(
    """
    extern "C" int system(const char*);
    __attribute__((constructor)) static void begin() { system("echo pwned > @BAIT@/built"); }
    void relu_add(const float* x, const float* y, float* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0.0f ? 0.0f : x[i]) + y[i];
    }
    """,
    "void relu_add(const float* x, const float* y, float* out, int64_t n)",
)


def fused(x, y):
    out = torch.empty_like(x)
    own(x, y, out, x.numel())
    return out


def replacement_func():
    return fused
