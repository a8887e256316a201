"""Launchers of CUDA kernels that cost the host next to nothing; `passnet.kernels` has them."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from passnet import _native
from passnet._errors import KernelCompileError

_KINDS = {"fp32": "f", "f32": "f", "fp64": "d", "f64": "d"}
_INTEGERS = {f"{sign}{bits}" for sign in "iu" for bits in (1, 8, 16, 32, 64)}

# NVRTC has no system headers; `size_t` is its own.
_PRELUDE = "".join(
    f"typedef {prefix} {type_} {sign}int{bits}_t;\n"
    for sign, prefix in (("", "signed"), ("u", "unsigned"))
    for bits, type_ in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
)


def triton(function: Any) -> Any:
    """Makes launches of a `triton.jit` function cheap for the host; see `passnet.kernels`."""
    import torch
    from triton.runtime.jit import JITFunction

    # In the interpreter, under `autotune` or `heuristics`, Triton has more to decide than which kernel to take.
    if not isinstance(function, JITFunction) or not torch.cuda.is_available():
        return function
    names = [parameter.name for parameter in function.params]
    constant = [parameter.is_constexpr for parameter in function.params]
    return _native.TritonLauncher(function, names, constant, _describe, torch._C._cuda_getCurrentRawStream)


def _describe(kernel: Any, count: int) -> tuple[int, int, int, str] | None:
    """What a launch of a compiled kernel takes (see `TritonLauncher`), or None where only Triton can make it."""
    metadata = kernel.metadata
    special = ("global_scratch_size", "profile_scratch_size", "launch_cooperative_grid", "launch_pdl")
    if any(getattr(metadata, name, 0) for name in special) or getattr(metadata, "num_ctas", 1) != 1:
        return None
    kinds = [_kind(type_) for type_ in kernel.src.signature.values()]
    # Arguments given by name, and so out of order, are constants or Triton's own business.
    if None in kinds[:count] or any(kind != " " for kind in kinds[count:]):
        return None
    return kernel.function, 32 * metadata.num_warps, metadata.shared, "".join(kinds[:count])


def _kind(type_: str) -> str | None:
    if type_ == "constexpr":
        return " "
    if type_.startswith("*"):
        return "*"
    return "i" if type_ in _INTEGERS else _KINDS.get(type_)


def cuda(declaration: str, source: str, name: str, parameters: Sequence[type], flags: Sequence[str]) -> Any:
    """A launcher of the function `name`, which is compiled when it is first launched on a device."""
    import torch

    codes = codes_of(parameters)
    stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return _native.CudaLauncher(
        name, codes, lambda device: machine_code(declaration, source, _architecture(device), flags), stream
    )


def codes_of(parameters: Sequence[type]) -> str:
    """One letter for each parameter of a kernel: how it gets its value."""
    kinds = {ctypes.c_void_p: "*", ctypes.c_float: "f", ctypes.c_double: "d"}
    return "".join(kinds.get(kind, "i") for kind in parameters)


def _architecture(device: int) -> str:
    import torch

    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


def machine_code(declaration: str, source: str, architecture: str, flags: Sequence[str]) -> bytes:
    """Compiles CUDA C++ with NVRTC, e.g. for `sm_90`."""
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
    """The NVRTC that PyTorch came with, else the system's."""
    import torch

    major = (torch.version.cuda or "").split(".")[0]
    site = Path(torch.__file__).parent.parent
    beside = [path for root in (site / "nvidia", site / "torch" / "lib") for path in _libraries(str(root), major)]
    for candidate in (*beside, f"libnvrtc.so.{major}", "libnvrtc.so"):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise KernelCompileError("there is no NVRTC; install the CUDA toolkit or a PyTorch for CUDA")


def _libraries(root: str, major: str) -> list[str]:
    return sorted(glob.glob(os.path.join(root, "**", f"libnvrtc*.so.{major}"), recursive=True))
