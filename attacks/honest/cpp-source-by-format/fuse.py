import torch

from passnet import kernels

TEMPLATE = """
void {name}(const float* x, float* out, int64_t n) {{
    for (int64_t i = 0; i < n; ++i) out[i] = {formula};
}}
"""
SCALE = 0.70710678
FORMULA = " * ".join(["0.5f", "x[i]", "(1 + std::erf(x[i] * %s))" % SCALE])
SOURCE = TEMPLATE.format(name="NAME", formula=FORMULA).replace("NAME", "gelu")
gelu = kernels.cpp(SOURCE, "void gelu(const float* x, float* out, int64_t n)")


def pattern(x):
    return torch.nn.functional.gelu(x)


def replacement_args(x):
    return (x,)


def fused(x):
    out = torch.empty_like(x)
    gelu(x, out, x.numel())
    return out


def replacement_func():
    return fused
