"""Kernels for replacement functions.

    from passnet import kernels

    relu_add = kernels.cpp(
        '''
        void relu_add(const float* x, const float* y, float* out, int64_t n) {
            for (int64_t i = 0; i < n; ++i) out[i] = std::max(x[i], 0.0f) + y[i];
        }
        ''',
        "void relu_add(const float* x, const float* y, float* out, int64_t n)",
    )

    def replacement(x, y):
        out = torch.empty_like(x)
        relu_add(x, y, out, x.numel())
        return out

A tensor is given for a pointer, a number for everything else. A call raises `KernelArgumentError` if an argument is not what
the signature says: a tensor of another type (`const float*` takes float32), on another device, or not contiguous; a number
that does not fit. Three notations say more than the compiler sees:

- `const float x[n]` instead of `const float* x`: the tensor has `n` elements, an expression of the integer parameters.
- `const float* strided x`: the tensor may have any strides, which the kernel is given as numbers.
- `parallel int64_t begin, int64_t end` in C++: a range of independent steps. A call gives the whole of it, and the kernel is
  called for parts of it in as many threads as PyTorch's operations may use.

An unsigned type such as `uint16_t*` takes tensors of all types of its size, as bits; `void*` and `char*` take all.

A replacement begins with a guard, so that a pass is used only where it is right:

    kernels.require(x, y, dtype=torch.float32, shape=x.shape)

The source can use the types `float16` and `bfloat16`, which convert to float, and from it by rounding to nearest even
(`float16(x)`). `load`, `read` and `store` convert whole rows, `round_to<T>` does to a row of float what storing it as T would;
`row_sum`, `row_max`, `fast_exp` and `fast_tanh` are written so that compilers vectorise them; `kept(x * y)` is rounded before
something is added to it, with any flags. All are in `prelude.hpp`. `#include <passnet/vectors.hpp>` gives vectors of the width of
the CPU's registers, with loads, stores, elementary functions and sums in the order of PyTorch. One source serves several types with `flags=("-Delement=float16",)`.

On a GPU, Triton's own launch costs the host about ten microseconds, several times what a small kernel takes. With one more
decorator, later launches with the same types go straight to the driver; they are written as before:

    @kernels.triton
    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        ...

    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024, num_warps=4)

The Python of a replacement function, which looks at shapes and allocates, costs a few microseconds on either device. With
`@kernels.prepared` above it that is done once for each signature; see there what such a function may do.

Kernels can be written in CUDA C++ too:

    scale = kernels.cuda(
        '''
        __global__ void scale(const float* x, float* out, int64_t n) {
            int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
            if (i < n) out[i] = 2 * x[i];
        }
        ''',
        "void scale(const float* x, float* out, int64_t n)",
    )

    scale[(blocks,), (256,)](x, out, n)

Launches go to PyTorch's current stream on its current device.

A kernel that is written for one layout is given others by `kernels.with_strides(x, stride)`, a copy.
"""

from passnet.kernels._cpp import cpp
from passnet.kernels._cuda import cuda
from passnet.kernels._errors import KernelArgumentError, KernelCompileError, KernelRefusedError
from passnet.kernels._prepared import prepared
from passnet.kernels._require import require
from passnet.kernels._strides import copy, with_strides
from passnet.kernels._triton import triton

__all__ = [
    "KernelArgumentError",
    "KernelCompileError",
    "KernelRefusedError",
    "copy",
    "cpp",
    "cuda",
    "prepared",
    "require",
    "triton",
    "with_strides",
]
