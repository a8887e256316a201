"""NVRTC, the compiler for CUDA C++ that comes with PyTorch, and the headers that it gets."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from passnet.kernels._errors import KernelCompileError

# Headers that NVRTC lacks. It has the functions of mathematics without a header, and the types stand before the source.
_HEADERS = {
    **dict.fromkeys(("cstdint", "stdint.h", "cstddef", "stddef.h"), ""),
    **dict.fromkeys(
        ("cmath", "math.h"),
        "#pragma once\n"
        "#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n#define M_PI 3.14159265358979323846\n"
        "#define M_SQRT1_2 0.70710678118654752440\n#define M_SQRT2 1.41421356237309504880\n",
    ),
    **dict.fromkeys(
        ("cfloat", "float.h"),
        "#pragma once\n"
        "#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n#define FLT_EPSILON 1.192092896e-07f\n"
        "#define DBL_MAX 1.7976931348623158e+308\n#define DBL_MIN 2.2250738585072014e-308\n"
        "#define DBL_EPSILON 2.2204460492503131e-16\n",
    ),
    **dict.fromkeys(
        ("climits", "limits.h"),
        "#pragma once\n"
        "#define INT_MAX 0x7fffffff\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 0xffffffffu\n"
        "#define LLONG_MAX 0x7fffffffffffffffll\n#define LLONG_MIN (-LLONG_MAX - 1)\n",
    ),
}
# Headers whose contents CUDA's own standard library has in another namespace.
_STANDARD = (
    "algorithm",
    "array",
    "bit",
    "functional",
    "limits",
    "numeric",
    "optional",
    "span",
    "tuple",
    "type_traits",
    "utility",
)


def compile_source(text: str, architecture: str, flags: Sequence[str]) -> tuple[str, bytes]:
    """Compiles CUDA C++ with NVRTC, e.g. for `sm_90`. Returns the PTX and the machine code that NVRTC made of it.

    Raises `KernelCompileError`.
    """
    nvrtc = _library()
    program = ctypes.c_void_p()
    folders = _include_folders()
    headers = _headers(folders)
    names, contents = _strings(headers), _strings(headers.values())
    _check(
        nvrtc,
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", len(headers), contents, names),
    )
    try:
        paths = [f"--include-path={folder}" for folder in folders]
        options = [f"--gpu-architecture={architecture}", "--std=c++17", *paths, *flags]
        status = nvrtc.nvrtcCompileProgram(program, len(options), _strings(options))
        if status != 0:
            raise KernelCompileError(_text(nvrtc, program, "ProgramLog").strip() or "the compiler failed")
        return _text(nvrtc, program, "PTX"), _bytes(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    return _bytes(nvrtc, program, what).rstrip(b"\0").decode(errors="replace")


def _bytes(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
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
def _library() -> ctypes.CDLL:
    """Returns the NVRTC that was installed with PyTorch, else the system's."""
    major = _major()
    for candidate in (*_bundled(major), f"libnvrtc.so.{major}", "libnvrtc.so"):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise KernelCompileError("there is no NVRTC; install the CUDA toolkit or a PyTorch for CUDA")


def _bundled(major: str) -> list[str]:
    """Returns the paths of the NVRTC that was installed with PyTorch."""
    found = [path for root in _roots() for path in _found(root, f"libnvrtc*.so.{major}")]
    # Some packages have a second build, `libnvrtc.alt.so.13`. It cannot find its own built-in functions.
    return [path for path in found if not os.path.basename(path).startswith("libnvrtc.alt.")]


@functools.cache
def _include_folders() -> tuple[str, ...]:
    """Returns the folders with CUDA's headers that were installed with PyTorch, else the toolkit's; nothing if there are none."""
    toolkits = (
        os.environ.get("CUDA_HOME"),
        os.environ.get("CUDA_PATH"),
        f"/usr/local/cuda-{_major()}",
        "/usr/local/cuda",
    )
    found = [path for root in _roots() for path in _found(root, os.path.join("include", "cuda_fp16.h"))]
    found += [os.path.join(root, "include", "cuda_fp16.h") for root in toolkits if root]
    folder = next((os.path.dirname(path) for path in found if os.path.isfile(path)), None)
    # CUDA 13 has its C++ library in a folder of its own.
    return () if folder is None else tuple(filter(os.path.isdir, (folder, os.path.join(folder, "cccl"))))


def _headers(folders: Sequence[str]) -> dict[str, str]:
    """Returns the headers that NVRTC gets with a source, by name."""
    found = [
        name
        for name in _STANDARD
        if any(os.path.isfile(os.path.join(folder, "cuda", "std", name)) for folder in folders)
    ]
    return _HEADERS | {
        name: f"#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n" for name in found
    }


def _roots() -> tuple[Path, Path]:
    site = Path(torch.__file__).parent.parent
    return site / "nvidia", site / "torch" / "lib"


def _found(root: Path, pattern: str) -> list[str]:
    return sorted(glob.glob(os.path.join(root, "**", pattern), recursive=True))


def _major() -> str:
    return (torch.version.cuda or "").split(".")[0]
