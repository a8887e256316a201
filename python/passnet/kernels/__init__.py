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

Pass a tensor for a pointer, and a number for every other parameter. A call raises `KernelArgumentError` if an argument does not fit the
signature: a tensor of another type (`const float*` takes float32), on another device, or not contiguous, or a number that is
too large for its type. Three notations extend C++:

- `const float x[n]` instead of `const float* x`: the tensor must have `n` elements, an expression of the integer parameters.
- `const float* strided x`: the tensor may have any strides; the kernel gets them as numbers.
- `parallel int64_t begin, int64_t end` in C++: a range of independent steps. A call passes the whole range. The launcher calls the
  kernel for parts of it, in as many threads as PyTorch's operations may use.

An unsigned type such as `uint16_t*` takes tensors of all types of its size, as bits; `void*` and `char*` take tensors of any type.

A replacement begins with a guard, which limits the pass to the calls that it is right for:

    kernels.require(x, y, dtype=torch.float32, shape=x.shape)

The source can use the declarations of `prelude.hpp`:

- the types `float16` and `bfloat16`, which convert to float; `float16(x)` rounds a float to the nearest, ties to even;
- `load`, `read` and `store`, which convert whole rows, and `round_to<T>`, which rounds a row of float to the type T;
- `row_sum`, `row_max`, `fast_exp` and `fast_tanh`, which compilers can vectorise;
- `kept(x * y)`, which rounds the product before something is added to it, with any flags.

`#include <passnet/vectors.hpp>` adds vectors of the width of the CPU's registers, with loads, stores, elementary functions, and sums in the
order of PyTorch. With `flags=("-Delement=float16",)` and the like, one source serves several types.

On a GPU, Triton's own launch costs the host about ten microseconds, several times as much as a small kernel. With one more
decorator, later launches with the same types go directly to the driver. Calls are written as before:

    @kernels.triton
    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        ...

    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024, num_warps=4)

The Python code of a replacement function, which looks at shapes and allocates memory, costs a few microseconds on either device. With
`@kernels.prepared` above the function, this code runs once for each signature. `prepared` describes what such a function may do.

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

If a kernel is written for one layout, `kernels.with_strides(x, stride)` copies a tensor to this layout.
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
