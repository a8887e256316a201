"""Attempts to leave the sandbox (`passnet doctor`).

Each attempt is an action of a hostile pass. It returns its result, or raises `OSError` or another error if it was stopped.
`SECURITY.md` lists the attempts.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from passnet._worker.probe_registry import Probes

ESCAPES = Probes()

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWUSER = 0x10000000
_MIB = 1 << 20


def _call(result: int, what: str) -> str:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return what


@ESCAPES.add
def _read(path: str) -> str:
    return f"read {len(Path(path).read_bytes())} bytes"


@ESCAPES.add
def _list(path: str) -> str:
    return f"{len(os.listdir(path))} entries"


@ESCAPES.add
def _write(path: str) -> str:
    Path(path).write_text("x")
    return f"wrote {path}"


@ESCAPES.add
def _change_mode(path: str) -> str:
    os.chmod(path, 0o777)
    return "changed the mode"


@ESCAPES.add
def _change_time(path: str) -> str:
    os.utime(path)
    return "changed the time"


@ESCAPES.add
def _link(path: str) -> str:
    """Reads a file through a link in the scratch folder."""
    Path("link").unlink(missing_ok=True)
    os.symlink(path, "link")
    return _read("link")


@ESCAPES.add
def _system_setting(path: str) -> str:
    content = Path(path).read_bytes()
    with open(path, "wb", buffering=0) as file:  # Writes the value that it has read, to change nothing.
        file.write(content)
    return f"can write {path}"


@ESCAPES.add
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


@ESCAPES.add
def _environments(_: str) -> str:
    """Reads the environment of any process except this process and its descendants."""
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    for name in others:
        with contextlib.suppress(OSError):
            if content := Path("/proc", name, "environ").read_bytes():
                return f"read {len(content)} bytes of process {name}"
    raise OSError(f"no access to any of {len(others)} other processes")


@ESCAPES.add
def _variables(names: str) -> str:
    own = Path("/proc/self/environ").read_bytes().decode(errors="replace")
    found = [name for name in names.split() if name in os.environ or f"{name}=" in own]
    if not found:
        raise OSError("none of these variables is set")
    return f"sees {', '.join(found)}"


@ESCAPES.add
def _signal(pid: str) -> str:
    # In a container the referee may be process 1. In a separate PID namespace the worker is process 1 too.
    if int(pid) == os.getpid():
        raise OSError("the number is its own here")
    os.kill(int(pid), 0)
    return f"may signal {pid}"


@ESCAPES.add
def _signal_parent(_: str) -> str:
    if os.getppid() == 0:
        raise OSError("the parent has no number")
    return _signal(str(os.getppid()))


@ESCAPES.add
def _signal_all(_: str) -> str:
    os.kill(-1, 0)
    return "may signal other processes"


@ESCAPES.add
def _trace(pid: str) -> str:
    seize = 0x4206
    return _call(_libc.ptrace(seize, int(pid), None, None), f"traces {pid}")


@ESCAPES.add
def _foreign_memory(pid: str) -> str:
    class Part(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    buffer = ctypes.create_string_buffer(8)
    local, remote = Part(ctypes.addressof(buffer), 8), Part(ctypes.addressof(buffer), 8)
    done = _libc.process_vm_readv(int(pid), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    # EFAULT (14), an address that is not mapped in the other process, also proves the permission.
    if done < 0 and ctypes.get_errno() != 14:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"reads the memory of {pid}"


@ESCAPES.add
def _connect(port: str) -> str:
    with socket.create_connection(("127.0.0.1", int(port)), timeout=2):
        return "connected"


@ESCAPES.add
def _datagram(port: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return f"sent {sock.sendto(b'x', ('127.0.0.1', int(port)))} bytes"


@ESCAPES.add
def _unix(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        return "connected"


@ESCAPES.add
def _netlink(_: str) -> str:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW):
        return "opened a netlink socket"


@ESCAPES.add
def _namespace(_: str) -> str:
    return _call(_libc.unshare(_CLONE_NEWUSER), "made a user namespace")


@ESCAPES.add
def _mount(_: str) -> str:
    Path("mount").mkdir(exist_ok=True)
    return _call(_libc.mount(b"tmpfs", b"mount", b"tmpfs", 0, None), "mounted a file system")


@ESCAPES.add
def _system_call(number: str) -> str:
    """Makes a system call that has to be unknown or forbidden. An allowed call fails for another reason, because it gets no arguments."""
    result = _libc.syscall(int(number), 0, 0, 0, 0, 0, 0)
    if result < 0 and ctypes.get_errno() in (1, 38):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"system call {number} exists"


@ESCAPES.add
def _descriptors(_: str) -> str:
    """Looks for open descriptors that lead to another process. The one socket to the referee is expected."""
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
    raise OSError("has no descriptor except its channel")


def _is_open(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")


@ESCAPES.add
def _affinity(_: str) -> str:
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return "may choose its cores"


@ESCAPES.add
def _outlive_parent(_: str) -> str:
    pdeathsig = 1
    return _call(_libc.prctl(pdeathsig, 0, 0, 0, 0), "would outlive its parent")


@ESCAPES.add
def _start_own_program(_: str) -> str:
    shutil.copy("/bin/true", "program")
    os.chmod("program", 0o755)
    subprocess.run(["./program"], check=True)
    return "started a program that it wrote"


@ESCAPES.add
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


@ESCAPES.add
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


@ESCAPES.add
def _fill_log(most: str) -> str:
    written = 0
    while written < int(most):
        written += os.write(1, bytes(_MIB))
        time.sleep(0.001)
    time.sleep(1)
    return f"wrote {written // _MIB} MiB"


@ESCAPES.add
def _take_memory(most: str) -> str:
    """Takes memory that no limit of the process includes."""
    taken = []
    for _ in range(int(most) // (16 * _MIB)):
        block = mmap.mmap(-1, 16 * _MIB)
        for page in range(0, len(block), mmap.PAGESIZE):
            block[page] = 1
        taken.append(block)
    time.sleep(1)
    return f"took {len(taken) * 16} MiB"


@ESCAPES.add
def _take_private_memory(most: str) -> str:
    return f"took {len(bytearray(int(most))) // _MIB} MiB"


@ESCAPES.add
def _burn(seconds: str) -> str:
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        pass
    return f"ran for {seconds} s"


@ESCAPES.add
def _leave_daemon(name: str) -> str:
    """Leaves a process running that has its own session and no living parent."""
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
        raise OSError("it was killed before it could report")
    return "left a process behind"
