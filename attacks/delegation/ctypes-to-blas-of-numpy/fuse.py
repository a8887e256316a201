import ctypes
import glob
import os

import numpy
import torch


def pattern(x, y):
    return torch.matmul(x, y)


def replacement_args(x, y):
    return (x, y,)


PLACE = os.path.join(os.path.dirname(os.path.dirname(numpy.__file__)), "numpy.libs", "libscipy_openblas*.so*")
BLAS = ctypes.CDLL(glob.glob(PLACE)[0])


def fused(x, y):
    (m, k), n = x.shape, y.shape[1]
    out = torch.empty((m, n), dtype=x.dtype)
    i, one, zero = ctypes.c_int64, ctypes.c_float(1.0), ctypes.c_float(0.0)
    at = lambda t: ctypes.c_void_p(t.data_ptr())
    BLAS.scipy_cblas_sgemm64_(
        101, 111, 111, i(m), i(n), i(k), one, at(x), i(k), at(y), i(n), zero, at(out), i(n)
    )
    return out


def replacement_func():
    return fused
