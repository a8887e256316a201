"""Attempts to get out of the sandbox, and proofs that what a worker needs works inside (`passnet doctor`).

Each attempt is what a hostile pass could do. It returns what it achieved, or raises `OSError` (or another error of the thing
it tried) where it was stopped. `SECURITY.md` lists them.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWUSER = 0x10000000
_MIB = 1 << 20

_TRITON = """
@triton.jit
def twice(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, 2 * tl.load(x + i))
"""

_ATTEMPTS: dict[str, Callable[[str], str]] = {}


def _attempt(function: Callable[[str], str]) -> Callable[[str], str]:
    _ATTEMPTS[function.__name__.removeprefix("_")] = function
    return function


def attempt(name: str, argument: str) -> dict[str, Any]:
    """The `probed` reply: whether the attempt succeeded, and with what, or what stopped it."""
    try:
        return {"type": "probed", "done": True, "detail": _ATTEMPTS[name](argument)}
    except Exception as error:
        return {"type": "probed", "done": False, "detail": f"{type(error).__name__}: {error}"[:1000]}


def _call(result: int, what: str) -> str:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return what


@_attempt
def _read(path: str) -> str:
    return f"read {len(Path(path).read_bytes())} bytes"


@_attempt
def _list(path: str) -> str:
    return f"{len(os.listdir(path))} entries"


@_attempt
def _write(path: str) -> str:
    Path(path).write_text("x")
    return f"wrote {path}"


@_attempt
def _change_mode(path: str) -> str:
    os.chmod(path, 0o777)
    return "changed the mode"


@_attempt
def _change_time(path: str) -> str:
    os.utime(path)
    return "changed the time"


@_attempt
def _link(path: str) -> str:
    """Gets at a file through a link in the scratch."""
    Path("link").unlink(missing_ok=True)
    os.symlink(path, "link")
    return _read("link")


@_attempt
def _system_setting(path: str) -> str:
    content = Path(path).read_bytes()
    with open(path, "wb", buffering=0) as file:  # Writes back what it has read.
        file.write(content)
    return f"can write {path}"


@_attempt
def _block_devices(_: str) -> str:
    devices = [
        entry.path
        for entry in os.scandir("/dev")
        if not entry.is_dir() and os.stat(entry.path).st_mode & 0o170000 == 0o060000
    ]
    for device in devices:
        os.close(os.open(device, os.O_RDONLY))
        return f"opened {device}"
    raise OSError("no block device is visible")


@_attempt
def _environments(_: str) -> str:
    """Reads the environment of any process but this one and what it has started."""
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    for name in others:
        with contextlib.suppress(OSError):
            if content := Path("/proc", name, "environ").read_bytes():
                return f"read {len(content)} bytes of process {name}"
    raise OSError(f"none of {len(others)} other processes lets it")


@_attempt
def _variables(names: str) -> str:
    own = Path("/proc/self/environ").read_bytes().decode(errors="replace")
    found = [name for name in names.split() if name in os.environ or f"{name}=" in own]
    if not found:
        raise OSError("none of them is set")
    return f"sees {', '.join(found)}"


@_attempt
def _signal(pid: str) -> str:
    os.kill(int(pid), 0)
    return f"may signal {pid}"


@_attempt
def _signal_parent(_: str) -> str:
    if os.getppid() == 0:
        raise OSError("the parent has no number")
    return _signal(str(os.getppid()))


@_attempt
def _signal_all(_: str) -> str:
    os.kill(-1, 0)
    return "may signal other processes"


@_attempt
def _trace(pid: str) -> str:
    seize = 0x4206
    return _call(_libc.ptrace(seize, int(pid), None, None), f"traces {pid}")


@_attempt
def _foreign_memory(pid: str) -> str:
    class Part(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    buffer = ctypes.create_string_buffer(8)
    local, remote = Part(ctypes.addressof(buffer), 8), Part(ctypes.addressof(buffer), 8)
    done = _libc.process_vm_readv(int(pid), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    # An address that is not mapped there proves the permission as well.
    if done < 0 and ctypes.get_errno() != 14:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"reads the memory of {pid}"


@_attempt
def _connect(port: str) -> str:
    with socket.create_connection(("127.0.0.1", int(port)), timeout=2):
        return "connected"


@_attempt
def _datagram(port: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return f"sent {sock.sendto(b'x', ('127.0.0.1', int(port)))} bytes"


@_attempt
def _unix(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        return "connected"


@_attempt
def _netlink(_: str) -> str:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW):
        return "opened a netlink socket"


@_attempt
def _namespace(_: str) -> str:
    return _call(_libc.unshare(_CLONE_NEWUSER), "made a user namespace")


@_attempt
def _mount(_: str) -> str:
    Path("mount").mkdir(exist_ok=True)
    return _call(_libc.mount(b"tmpfs", b"mount", b"tmpfs", 0, None), "mounted a file system")


@_attempt
def _system_call(number: str) -> str:
    """Makes a system call that has to be unknown or forbidden. Without arguments the others fail for other reasons."""
    result = _libc.syscall(int(number), 0, 0, 0, 0, 0, 0)
    if result < 0 and ctypes.get_errno() in (1, 38):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"system call {number} exists"


@_attempt
def _descriptors(_: str) -> str:
    """Looks for open files that lead to somebody else; the own channel is one socket."""
    places = {int(name): os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)}
    strange = [
        place
        for descriptor, place in places.items()
        if descriptor > 2 and not place.startswith(("/dev/nvidia", "/proc/"))
    ]
    sockets = [place for place in strange if place.startswith("socket:")]
    rest = [place for place in strange if not place.startswith(("socket:", "/memfd:passnet-inputs"))]
    if len(sockets) > 1 or rest:
        return f"holds {', '.join(sockets + rest)}"
    raise OSError("holds nothing but its channel")


def _is_open(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")


@_attempt
def _affinity(_: str) -> str:
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return "may choose its cores"


@_attempt
def _outlive_parent(_: str) -> str:
    pdeathsig = 1
    return _call(_libc.prctl(pdeathsig, 0, 0, 0, 0), "would outlive its parent")


@_attempt
def _start_own_program(_: str) -> str:
    shutil.copy("/bin/true", "program")
    os.chmod("program", 0o755)
    subprocess.run(["./program"], check=True)
    return "started a program of its own"


@_attempt
def _fork_bomb(most: str) -> str:
    children = 0
    try:
        while children < int(most):
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            children += 1
    except OSError as error:
        raise OSError(f"stopped at {children} processes: {error.strerror}") from None
    return f"started {children} processes"


@_attempt
def _fill_disk(most: str) -> str:
    written = 0
    try:
        with open("flood", "wb", buffering=0) as file:
            while written < int(most):
                written += file.write(bytes(16 * _MIB))
    except OSError as error:
        raise OSError(f"stopped at {written // _MIB} MiB: {error.strerror}") from None
    finally:
        Path("flood").unlink(missing_ok=True)
    return f"wrote {written // _MIB} MiB"


@_attempt
def _fill_log(most: str) -> str:
    written = 0
    while written < int(most):
        written += os.write(1, bytes(_MIB))
        time.sleep(0.001)
    time.sleep(1)
    return f"wrote {written // _MIB} MiB"


@_attempt
def _take_memory(most: str) -> str:
    """Takes memory that no limit of the process counts."""
    taken = []
    for _ in range(int(most) // (16 * _MIB)):
        block = mmap.mmap(-1, 16 * _MIB)
        for page in range(0, len(block), mmap.PAGESIZE):
            block[page] = 1
        taken.append(block)
    time.sleep(1)
    return f"took {len(taken) * 16} MiB"


@_attempt
def _take_private_memory(most: str) -> str:
    return f"took {len(bytearray(int(most))) // _MIB} MiB"


@_attempt
def _burn(seconds: str) -> str:
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        pass
    return f"ran for {seconds} s"


@_attempt
def _leave_daemon(name: str) -> str:
    """Leaves a process behind that has left its session and its parents."""
    up, ready = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _libc.prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME
            os.write(ready, b"x")
            time.sleep(60)
        os._exit(0)
    os.close(ready)
    if not os.read(up, 1):
        raise OSError("it did not live to say so")
    return "left a process behind"


@_attempt
def _torch(device: str) -> str:
    import torch

    x = torch.ones(64, 64, device=device)
    return f"sum {float((x @ x).relu().sum()):.0f} on {device}"


@_attempt
def _name_thread(_: str) -> str:
    """Names a thread as the CUDA driver names its own: by truncating a file of `/proc`. It does not start where it cannot."""
    name = f"/proc/self/task/{threading.get_native_id()}/comm"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        os.write(descriptor, b"worker")
    finally:
        os.close(descriptor)
    return f"is {Path(name).read_text().strip()} now"


@_attempt
def _cpp(_: str) -> str:
    import torch

    from passnet import kernels

    double = kernels.cpp(
        "void twice(const float* x, float* y, int64_t n) { for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i]; }",
        "void twice(const float* x, float* y, int64_t n)",
    )
    x, y = torch.ones(8), torch.zeros(8)
    double(x, y, 8)
    return f"compiled; sum {float(y.sum()):.0f}"


@_attempt
def _inductor(device: str) -> str:
    import torch

    x = torch.ones(64, device=device)
    result = torch.compile(lambda x: torch.relu(x + 1) * 2)(x)
    return f"compiled; sum {float(result.sum()):.0f} on {device}"


@_attempt
def _triton(device: str) -> str:
    import torch
    import triton
    import triton.language as tl

    if device == "cpu":
        from passnet import _interpreter

        _interpreter.enable()
    source = Path("twice.py")
    source.write_text(_TRITON)
    namespace = {"triton": triton, "tl": tl}
    exec(compile(_TRITON, str(source.resolve()), "exec"), namespace)
    x = torch.ones(64, device=device)
    y = torch.zeros_like(x)
    namespace["twice"][(1,)](x, y, N=64)
    return f"sum {float(y.sum()):.0f} on {device}"


@_attempt
def _program(name: str) -> str:
    """Has a program from the list of those that may run say its version."""
    run = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[0]


@_attempt
def _python(_: str) -> str:
    return f"Python {sys.version.split()[0]}, process {os.getpid()}"
