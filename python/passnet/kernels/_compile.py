"""Compiles C++ kernels, has the object code judged, and caches it.

The native module judges and loads the same bytes, after each compilation and for each object from the cache. Nothing is linked.
Constructs that leave no object code are judged in the preprocessed text. `docs/reference/native-kernels.md` has the rules.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from passnet import _native
from passnet._cache_folder import cache_folder
from passnet.kernels._errors import KernelCompileError, refusal

CACHE_VARIABLE = "PASSNET_KERNEL_CACHE"

_PRELUDE = Path(__file__).with_name("prelude.hpp").read_text()
# Text of the header that sources include as `<passnet/vectors.hpp>`.
_VECTORS = Path(__file__).with_name("vectors.hpp").read_text()
# Parts of the headers of libstdc++ that take a quarter of the time of a usual kernel and that it does not use: special functions of
# mathematics, and algorithms with execution policies. Their include guards are defined, so they are left out.
_LEAN = "#define _GLIBCXX_BITS_SPECFUN_H 1\n#define _PSTL_GLUE_ALGORITHM_DEFS_H 1\n"
# A source with one of these words may use them, or include other headers that do.
_WIDE = re.compile(r"beta|bits/|ellint|execution|expint|cyl_|hermite|laguerre|legendre|pstl|riemann|sph_|assoc_")
_DIGEST_BYTES = hashlib.sha256().digest_size


def load(source: str, signatures: Sequence[tuple[str, str]], flags: Sequence[str]) -> _native.KernelLibrary:
    """Compiles and loads kernels. `signatures` are pairs of a name and a declaration.

    Raises `KernelCompileError`, and `KernelRefusedError` for code that kernels may not have.
    """
    mark = f"passnet_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    prelude = _PRELUDE if _WIDE.search(source) else _LEAN + _PRELUDE
    text = _native.kernel_text(prelude, source, mark, list(signatures))
    if not _native.kernels_are_judged():
        return _native.KernelLibrary.unjudged(str(_linked(text, flags)))
    place = _place(text, flags, "o")
    library, findings = _judged(_cached(place))
    # If the cached file was damaged or replaced, the source is compiled again.
    if library is not None:
        return library
    given, initialise = list(flags), False
    # Before the compiler runs, because flags such as `-fplugin` make it load code.
    if refused := _native.judge_kernel_source(given, source):
        raise refusal(refused)
    while True:
        preprocessed, compiled = _run(text, [*_native.kernel_flags(given, initialise), "-c", "-save-temps=obj"])
        library, findings = _judged(compiled)
        findings = [*_native.judge_kernel_text(preprocessed, mark), *findings]
        if findings:
            raise refusal(findings)
        if library.has_bounded_stack or initialise:
            _keep(place, hashlib.sha256(compiled).digest() + compiled)
            return library
        # The launcher cannot clear a stack of unknown size, so the compiler initialises variables.
        initialise = True


def _judged(compiled: bytes | None) -> tuple[_native.KernelLibrary | None, list[str]]:
    return (None, []) if compiled is None else _native.KernelLibrary.judged(compiled)


def _cached(place: Path) -> bytes | None:
    try:
        content = place.read_bytes()
    except OSError:
        return None
    digest, compiled = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return compiled if hashlib.sha256(compiled).digest() == digest else None


def _keep(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    # Atomic: another process may be compiling the same kernel.
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, place)


def _linked(text: str, flags: Sequence[str]) -> Path:
    """Returns the path of a shared library, for a process whose kernels are not judged."""
    place = _place(text, flags, "so")
    if not place.exists():
        base = [flag for flag in _native.kernel_flags([], False) if not flag.startswith(("-fno-exc", "-fno-rtti"))]
        _, library = _run(text, [*base, *flags, "-shared", "-save-temps=obj"])
        _keep(place, library)
    return place


def _run(text: str, flags: Sequence[str]) -> tuple[str, bytes]:
    """Returns the preprocessed text and the compiler's output."""
    with tempfile.TemporaryDirectory() as work:
        # Not `kernel.cpp`, the name in messages: the compiler would quote lines of the written file.
        Path(work, "text.cpp").write_text(text)
        Path(work, "include/passnet").mkdir(parents=True)
        Path(work, "include/passnet/vectors.hpp").write_text(_VECTORS)
        # Included as system headers, so that rules for the text of kernels, and warnings, apply to the source only.
        command = [_compiler(), *flags, "-isystem", "include", "text.cpp", "-o", "text.out"]
        run = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise KernelCompileError(run.stderr.strip() or "the compiler failed")
        preprocessed = next(Path(work).glob("*.ii")).read_text(errors="replace")
        return preprocessed, Path(work, "text.out").read_bytes()


def _place(text: str, flags: Sequence[str], suffix: str) -> Path:
    key = "\0".join((str(_native.KERNEL_RULES), _VECTORS, text, *flags, _identity(_compiler())))
    return _cache() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.{suffix}"


def _cache() -> Path:
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else cache_folder("kernels")


def _compiler() -> str:
    chosen = os.environ.get("CXX")
    found = shutil.which(chosen) if chosen else shutil.which("g++") or shutil.which("c++")
    if found is None:
        raise KernelCompileError(f"there is no compiler `{chosen or 'g++'}`; install one or set CXX")
    return found


def compiler_identity() -> str:
    """Returns the version of the compiler and the features of the CPU; an empty text if there is no compiler."""
    try:
        return _identity(_compiler())
    except KernelCompileError:
        return ""


@functools.cache
def _identity(compiler: str) -> str:
    """Returns the version of the compiler and the features of the CPU, for which `-march=native` compiles."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    cpu = Path("/proc/cpuinfo").read_text(errors="replace")
    features = next((line for line in cpu.splitlines() if line.startswith("flags")), "")
    return f"{version}\n{features}"
