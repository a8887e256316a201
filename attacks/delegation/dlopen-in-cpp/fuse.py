import glob
import os

import numpy
import torch

from passnet import kernels


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y,)


SOURCE = """
#include <dlfcn.h>
#include <cstdlib>
using sgemm_t = void (*)(int, int, int, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float,
                         float*, int64_t);
void product(const float* x, const float* y, float* out, int64_t m, int64_t n, int64_t k) {
    static sgemm_t sgemm = (sgemm_t)dlsym(dlopen("@BLAS@", RTLD_NOW), "scipy_cblas_sgemm64_");
    sgemm(101, 111, 111, m, n, k, 1.0f, x, k, y, n, 0.0f, out, n);
}
"""
PLACE = os.path.join(os.path.dirname(os.path.dirname(numpy.__file__)), "numpy.libs", "libscipy_openblas*.so*")
product = kernels.cpp(
    SOURCE.replace("@BLAS@", glob.glob(PLACE)[0]),
    "void product(const float* x, const float* y, float* out, int64_t m, int64_t n, int64_t k)",
)


def fused(x, y):
    out = torch.empty((x.shape[0], y.shape[1]), dtype=x.dtype)
    product(x, y, out, x.shape[0], y.shape[1], x.shape[1])
    return out


def replacement_func():
    return fused
