"""Kernels in C++ for the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passnet import _native
from passnet.kernels._compile import load
from passnet.kernels._signature import Signature


def cpp(source: str, *signatures: str, flags: Sequence[str] = ()) -> Any:
    """Compiles C++ functions and returns them as callables: one for one signature, else a tuple.

    `signatures` are declarations of functions that the source defines, such as `void f(const float* x, int64_t n)`: they
    return nothing and take pointers and numbers. `flags` are added to those of the compiler (`-O3 -march=native`), for
    instance `-fopenmp`.

    `parallel int64_t begin, int64_t end` in a signature is a range of independent steps, such as rows. A call passes the whole
    range. The launcher calls the function for parts of it, in as many threads as PyTorch's operations may use
    (`torch.set_num_threads`). The result of a step must not depend on the part that it is in. A step should take ten
    microseconds or more.

    The object code is judged before it is loaded: it may compute and call mathematical functions, but must not have state,
    read clocks or call the system (`docs/reference/native-kernels.md`). The directory `PASSNET_KERNEL_CACHE` (default:
    `kernels` in the folder of `PASSNET_CACHE`) keeps the code under a hash of source and flags, so it is compiled once.

    Raises `ValueError` for an invalid signature, `KernelCompileError` if the compiler fails, and its subclass
    `KernelRefusedError` if the object code breaks a rule.
    """
    parsed = [Signature.parse(signature) for signature in signatures]
    if not parsed:
        raise ValueError('give the signature of at least one function, e.g. "void f(const float* x, int64_t n)"')
    for signature in parsed:
        signature.described(flags)  # Raises for an invalid signature before a compiler runs.
    library = load(source, [(signature.name, signature.declaration) for signature in parsed], flags)
    functions = tuple(
        _native.CppLauncher(signature.name, signature.described(flags), library, signature.range)
        for signature in parsed
    )
    return functions[0] if len(functions) == 1 else functions
