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

A tensor is given for a pointer, a number for everything else. Nothing is checked at the call: that tensors are contiguous,
of the right type and in host memory is for the caller to know.

The source can use the types `float16` and `bfloat16`, which convert to float, and from it by rounding to nearest even
(`float16(x)`). `load`, `read` and `store` convert whole rows, `round_to<T>` does to a row of float what storing it as T would;
`row_sum`, `row_max`, `fast_exp` and `fast_tanh` are written so that compilers vectorise them; `kept(x * y)` is rounded before
something is added to it, whatever the flags. All are in `_prelude.hpp`. One source serves several types with `flags=("-Delement=float16",)`.

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
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from passnet import _launch, _native, _prepared
from passnet._errors import KernelCompileError

__all__ = ["KernelCompileError", "cpp", "cuda", "prepared", "triton"]

CACHE_VARIABLE = "PASSNET_KERNEL_CACHE"

# Eager mode rounds each product before it adds: no fused multiply-add, so that results can be equal to the last bit. Nobody
# reads the flags of floating-point exceptions, or errno; kept, they forbid vector code for whatever chooses between values.
_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-fPIC",
    "-shared",
)

# The function through which Python calls a kernel takes its arguments from memory, a word for each.
_ENTRY = "passnet_call_{}"
_ENTRIES = """
namespace passnet_entries {
template <class T>
T from_word(uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof value);  // The low bytes come first.
    return value;
}

template <class... Types, size_t... places>
void call(void (*function)(Types...), const uint64_t* words, std::index_sequence<places...>) {
    function(from_word<Types>(words[places])...);
}

template <class... Types>
void call(void (*function)(Types...), const uint64_t* words) {
    // The compiler shall not see which function it is: inlined, it would be compiled a second time.
    void (*volatile hidden)(Types...) = function;
    call(hidden, words, std::index_sequence_for<Types...>());
}
}  // namespace passnet_entries

"""

_PRELUDE = Path(__file__).with_name("_prelude.hpp").read_text()

_SCALARS = {
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
_SIGNATURE = re.compile(r"\s*void\s+([A-Za-z_]\w*)\s*\(([^()]*)\)\s*;?\s*")
_PARAMETER = re.compile(
    r"\s*(?:const\s+)?([A-Za-z_]\w*)(?:\s*(\*)\s*|\s+)(?:const\s+)?(?:__restrict__\s+)?[A-Za-z_]\w*\s*"
)


def cpp(source: str, *signatures: str, flags: Sequence[str] = ()) -> Any:
    """Compiles C++ functions and returns them as callables: one for one signature, else a tuple.

    `signatures` are declarations of functions that the source defines, such as `void f(const float* x, int64_t n)`: they
    return nothing and take pointers and numbers. `flags` are added to those of the compiler (`-O3 -march=native`), for
    instance `-fopenmp`.

    The shared object is kept in the directory `PASSNET_KERNEL_CACHE` (default: `passnet/kernels` in the user's cache
    directory) under a hash of all that it depends on, so that it is compiled once.

    Raises `ValueError` for a signature that it cannot read, and `KernelCompileError`.
    """
    parsed = [_parse(signature) for signature in signatures]
    if not parsed:
        raise ValueError('give the signature of at least one function, e.g. "void f(const float* x, int64_t n)"')
    declarations = "".join(f'extern "C" {signature.strip().rstrip(";")};\n' for signature in signatures)
    entries = "".join(
        f'extern "C" void {_ENTRY.format(name)}(const uint64_t* words) {{ passnet_entries::call({name}, words); }}\n'
        for name, _ in parsed
    )
    text = f'{_PRELUDE}{declarations}#line 1 "kernel.cpp"\n{source}\n#line 1 "entries"\n{_ENTRIES}{entries}'
    library = ctypes.CDLL(str(_compiled(text, (*_FLAGS, *flags))))
    functions = tuple(_launcher(library, name, kinds) for name, kinds in parsed)
    return functions[0] if len(functions) == 1 else functions


def triton(function: Any) -> Any:
    """Makes launches of a `triton.jit` function cheap for the host; nothing else changes.

    The first launch for each combination of types, alignments and constants goes through Triton, which compiles the kernel.
    Without a GPU, and for an autotuned kernel, `function` itself is returned. Launch hooks of profilers built on Triton's do
    not see the later launches; CUPTI does.
    """
    return _launch.triton(function)


def cuda(source: str, signature: str, flags: Sequence[str] = ()) -> Any:
    """A kernel in CUDA C++, launched as `kernel[grid, block](...)` or `kernel[grid, block, shared_bytes](...)`.

    `grid` and `block` are tuples of one to three sizes. The source defines one `__global__` function as `signature` declares
    it, without `extern "C"`. It is compiled by NVRTC for the device that it is first launched on. The types of `<cstdint>` are
    there, system headers are not.

    Raises `ValueError` for a signature that it cannot read; the first launch raises `KernelCompileError`.
    """
    name, kinds = _parse(signature)
    declaration = f'extern "C" __global__ {signature.strip().rstrip(";")};\n'
    return _launch.cuda(declaration, source, name, kinds, flags)


def prepared(function: Callable[..., Any]) -> Any:
    """Makes calls of a replacement function cheap for the host, where it allocates and launches the same for the same kinds
    of arguments.

    The first call with arguments of a signature (types, shapes, strides and devices of tensors, values of numbers) is watched.
    Later ones repeat its allocations and launches, and run none of its Python. So the function may look at shapes, strides,
    types and devices, allocate with `torch.empty`, `empty_like` or `empty_strided`, launch kernels of this module, and return
    what it has allocated or was given, alone or in a tuple or list. What it does must follow from the signature alone. Where
    it calls anything else of PyTorch, it goes on as if it had not been prepared; so does a call under a mode of PyTorch.
    """
    return _prepared.prepared(function)


def _parse(signature: str) -> tuple[str, list[type]]:
    """Name, and ctypes type of each parameter."""
    whole = _SIGNATURE.fullmatch(signature)
    if whole is None:
        raise ValueError(f"`{signature}` is not of the form `void NAME(TYPE NAME, ...)`")
    kinds = []
    for text in whole[2].split(",") if whole[2].strip() else ():
        parameter = _PARAMETER.fullmatch(text)
        if parameter is None:
            raise ValueError(f"`{signature}`: cannot read the parameter `{text.strip()}`")
        kind, pointer = parameter.groups()
        if not pointer and kind not in _SCALARS:
            raise ValueError(f"`{signature}`: `{kind}` is none of {', '.join(_SCALARS)}, and no pointer")
        kinds.append(ctypes.c_void_p if pointer else _SCALARS[kind])
    return whole[1], kinds


def _launcher(library: ctypes.CDLL, name: str, kinds: list[type]) -> Any:
    entry = ctypes.cast(getattr(library, _ENTRY.format(name)), ctypes.c_void_p).value
    return _native.CppLauncher(name, _launch.codes_of(kinds), entry, library)


def _compiled(text: str, flags: tuple[str, ...]) -> Path:
    compiler = _compiler()
    key = "\0".join((text, *flags, _identity(compiler)))
    place = _cache() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as work:
        source, output = Path(work, "kernel.cpp"), Path(work, "kernel.so")
        source.write_text(text)
        run = subprocess.run(
            [compiler, *flags, str(source), "-o", str(output)], capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            raise KernelCompileError(run.stderr.replace(f"{work}{os.sep}", "").strip() or "the compiler failed")
        # Atomic: another process may be compiling the same kernel.
        os.replace(output, place)
    return place


def _cache() -> Path:
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "passnet", "kernels")


def _compiler() -> str:
    chosen = os.environ.get("CXX")
    found = shutil.which(chosen) if chosen else shutil.which("g++") or shutil.which("c++")
    if found is None:
        raise KernelCompileError(f"there is no compiler `{chosen or 'g++'}`; install one or set CXX")
    return found


@functools.cache
def _identity(compiler: str) -> str:
    """Version of the compiler and features of the processor, which `-march=native` compiles for."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    processor = Path("/proc/cpuinfo").read_text(errors="replace")
    features = next((line for line in processor.splitlines() if line.startswith("flags")), "")
    return f"{version}\n{features}"
