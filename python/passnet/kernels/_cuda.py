"""Kernels in CUDA C++, compiled by NVRTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from passnet import _native
from passnet.kernels import _device_code, _nvrtc
from passnet.kernels._signature import Signature

# NVRTC has no system headers. It defines only `size_t` itself.
_PRELUDE = "".join(
    f"typedef {prefix} {type_} {sign}int{bits}_t;\n"
    for sign, prefix in (("", "signed"), ("u", "unsigned"))
    for bits, type_ in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
)


def cuda(source: str, signature: str, flags: Sequence[str] = ()) -> Any:
    """Returns a kernel in CUDA C++, launched as `kernel[grid, block](...)` or `kernel[grid, block, shared_bytes](...)`.

    `grid` and `block` are tuples of one to three sizes. The source defines one `__global__` function as `signature` declares
    it, without `extern "C"`. NVRTC compiles the source for the device of the first launch. It has no system headers, but CUDA's
    own, such as `cuda_fp16.h`, and the types, limits and functions of `<cstdint>`, `<cfloat>`, `<climits>` and `<cmath>`.

    Raises `ValueError` for an invalid signature. The first launch raises `KernelCompileError` if the compiler fails, and
    `KernelRefusedError` for code that breaks a rule, such as memory that outlives the launch, clocks, or calls of `printf` or `malloc`.
    """
    parsed = Signature.parse(signature)
    declaration = f'extern "C" __global__ {parsed.declaration};\n'
    parameters = parsed.described(flags)
    stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return _native.CudaLauncher(
        parsed.name, parameters, lambda device: machine_code(declaration, source, _architecture(device), flags), stream
    )


def _architecture(device: int) -> str:
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


def machine_code(declaration: str, source: str, architecture: str, flags: Sequence[str]) -> bytes:
    """Compiles CUDA C++ with NVRTC, e.g. for `sm_90`, and has it judged."""
    text = f'{_PRELUDE}{declaration}#line 1 "kernel.cu"\n{source}'
    # PTX and machine code are from the same compilation, and the machine code is made of the PTX only. So the PTX is judged.
    ptx, code = _nvrtc.compile_source(text, architecture, flags)
    _device_code.judge(ptx, flags)
    return code
