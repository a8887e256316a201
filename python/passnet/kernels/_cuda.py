"""Kernels in CUDA C++, compiled by NVRTC."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from passnet import _native
from passnet.kernels import _device_code
from passnet.kernels._errors import KernelCompileError
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
    it, without `extern "C"`. NVRTC compiles the source for the device of the first launch. The types of `<cstdint>` are
    available, but system headers are not.

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
    nvrtc = _nvrtc()
    program = ctypes.c_void_p()
    text = f'{_PRELUDE}{declaration}#line 1 "kernel.cu"\n{source}'.encode()
    _check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernel.cu", 0, None, None))
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", *(flag.encode() for flag in flags)]
        status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if status != 0:
            log = _text(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
            raise KernelCompileError(log or "the compiler failed")
        # PTX and machine code are from the same compilation, and the machine code is made of the PTX only. So the PTX is judged.
        _device_code.judge(_text(nvrtc, program, "PTX").rstrip(b"\0").decode(errors="replace"), flags)
        return _text(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _check(nvrtc: ctypes.CDLL, status: int) -> None:
    if status != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise KernelCompileError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status).decode()}")


@functools.cache
def _nvrtc() -> ctypes.CDLL:
    """Returns the NVRTC that was installed with PyTorch, else the system's."""
    major = (torch.version.cuda or "").split(".")[0]
    site = Path(torch.__file__).parent.parent
    bundled = [path for root in (site / "nvidia", site / "torch" / "lib") for path in _libraries(str(root), major)]
    for candidate in (*bundled, f"libnvrtc.so.{major}", "libnvrtc.so"):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise KernelCompileError("there is no NVRTC; install the CUDA toolkit or a PyTorch for CUDA")


def _libraries(root: str, major: str) -> list[str]:
    return sorted(glob.glob(os.path.join(root, "**", f"libnvrtc*.so.{major}"), recursive=True))
