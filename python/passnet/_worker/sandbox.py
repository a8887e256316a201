"""Files, programs and devices that a confined worker may use. The native module enforces the limits (`SECURITY.md`)."""

from __future__ import annotations

import contextlib
import glob
import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

from passnet import _native

_native.prepare_namespaces()

# Environment variable with the names of layers to leave out, separated by commas, for machines on which a layer fails. The omission is
# recorded.
SKIP_VARIABLE = "PASSNET_SANDBOX_SKIP"

# Size of the scratch folder, which has compiled kernels and temporary files. It is in memory.
_SCRATCH_BYTES = 1 << 30
_PROCESSES = 400
_DESCRIPTORS = 4096
# Limit on file sizes if memory is unlimited. It is larger than any output.
_FILE_BYTES = 64 << 30

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"),
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/ssl/openssl.cnf"),
)
# Programs that compile C++ and Triton kernels.
_PROGRAMS = (
    *("c++", "g++", "cc", "gcc", "clang", "clang++", "as", "ld", "ld.bfd", "ld.gold", "ld.lld"),
    # On Ubuntu, `ldconfig` is a script that runs `ldconfig.real`.
    *("ldconfig", "ldconfig.real"),
    *("nvcc", "ptxas", "openssl"),
)
_PROGRAM_DIRECTORIES = ("/usr/lib/gcc", "/usr/libexec/gcc", "/usr/lib/gcc-cross", "/usr/lib/llvm*/bin")
_LOADERS = ("/lib64/ld-linux*.so*", "/lib/ld-linux*.so*", "/lib/*-linux-gnu/ld-linux*.so*")
_DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
    *("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/kfd", "/dev/dri"),
)


class Places:
    """The parts of this machine that every worker may see. They are looked up once, in the fork server."""

    def __init__(self) -> None:
        compilers = [shutil.which(os.environ.get(name, "")) for name in ("CC", "CXX")]
        found = [shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/sbin:/usr/sbin") for name in _PROGRAMS]
        programs = [program for program in (*compilers, *found, sys.executable) if program]
        programs += [interpreter for program in programs if (interpreter := _interpreter(program))]
        cuda = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
        own = [_prefix(compiler) for compiler in compilers if compiler]
        # A compiler or `ptxas` from a package index is below the prefix. The prefix of the system's Python is left
        # out: it would grant too much.
        prefixes = [prefix for prefix in (sys.prefix, *cuda, *own) if prefix and prefix not in ("/usr", "/")]
        directories = [place for pattern in (*_PROGRAM_DIRECTORIES, *_LOADERS) for place in glob.glob(pattern)]
        self.executable = _real([*programs, *prefixes, *directories])
        self.readable = _real([*_SYSTEM, *sys.path, sys.base_prefix, *prefixes, *_mapped_directories()])
        self.devices = [place for pattern in _DEVICES for place in glob.glob(pattern)]
        self.skip = [name.strip() for name in os.environ.get(SKIP_VARIABLE, "").split(",") if name.strip()]

    def sandbox(
        self, scratch: Path, shared: list[str], readable: list[str], new_pid_namespace: bool
    ) -> _native.Sandbox:
        """Returns the sandbox of one worker."""
        return _native.Sandbox(
            scratch=str(scratch),
            scratch_bytes=_SCRATCH_BYTES,
            shared=shared,
            readable=[*self.readable, *readable],
            executable=self.executable,
            devices=self.devices,
            processes=_PROCESSES,
            new_pid_namespace=new_pid_namespace,
            skip=self.skip,
        )


def _real(paths: list[str]) -> list[str]:
    """Returns each existing path once, as it is and with links followed. Leaves out the root, which would grant access to all files."""
    places = [place for path in paths if path and os.path.exists(path) for place in (path, os.path.realpath(path))]
    return [place for place in dict.fromkeys(places) if place != "/"]


def _prefix(program: str) -> str:
    """Returns the folder that contains a program that was not installed with the system, and all files that it starts and reads. Returns an
    empty string if this folder is not clear, or if it would grant access to the user's files."""
    directory = Path(os.path.realpath(program)).parent
    prefix = directory.parent
    return str(prefix) if directory.name == "bin" and not Path.home().is_relative_to(prefix) else ""


def _interpreter(program: str) -> str | None:
    """Returns the interpreter of a program that is a script."""
    with open(program, "rb") as file:
        first = file.readline(256)
    return os.fsdecode(first[2:].split()[0]) if first.startswith(b"#!") and first[2:].strip() else None


def _mapped_directories() -> list[str]:
    """Returns the directories of the shared libraries of this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[-1] for line in lines if ".so" in line and "/" in line}
    return sorted({os.path.dirname(file) for file in files if os.path.isfile(file)})


def be_first_to_die() -> None:
    """Makes the kernel kill this process first when the machine runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit(memory_bytes: int, cpu_s: int) -> None:
    """Sets limits that the kernel counts per process; 0 means no limit. Children of a worker inherit the limits."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    _lower(resource.RLIMIT_FSIZE, memory_bytes or _FILE_BYTES)
    if cpu_s:
        _lower(resource.RLIMIT_CPU, cpu_s, cpu_s + 5)


def _lower(kind: int, soft: int, hard: int | None = None) -> None:
    _, present = resource.getrlimit(kind)
    most = soft if hard is None else hard
    if present != resource.RLIM_INFINITY:
        most = min(most, present)
    resource.setrlimit(kind, (min(soft, most), most))


def environment(scratch: Path) -> dict[str, Any]:
    """Returns the environment variables that a confined worker has in addition to those of the fork server."""
    return {"HOME": str(scratch), "USER": "worker", "LOGNAME": "worker"}
