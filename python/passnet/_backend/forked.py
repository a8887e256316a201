"""Functions that run in forked copies of this process, for what they write to disk."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from passnet import _native

_POLL_SECONDS = 0.001
# The time of a fork grows with the memory of the process. After one that takes longer, there are no more copies.
_LONG_FORK_SECONDS = 0.1
# The numbers of all functions fit into a pipe, which holds 64 KiB.
_RECORD_BYTES, _MOST = 4, 16_384


def run_forked(functions: Sequence[Callable[[], Any]], processes: int, *, seconds: float) -> None:
    """Calls each function in one of several copies of this process, and waits for the copies, at most for this time.

    There are fewer copies if a fork takes long. Results and exceptions are lost, and output goes nowhere. The functions must not use a device. Copies that take longer are
    killed. Threads of this process do not exist in the copies, so a function that waits for one of them is killed too.
    """
    read, write = os.pipe()
    os.write(write, b"".join(number.to_bytes(_RECORD_BYTES, "little") for number in range(min(len(functions), _MOST))))
    os.close(write)
    parent = os.getpid()
    children: list[int] = []
    try:
        for _ in range(processes):
            with warnings.catch_warnings():
                # Python warns that locks of other threads may be held in the copy.
                warnings.simplefilter("ignore", DeprecationWarning)
                begin = time.monotonic()
                child = os.fork()
            if child == 0:
                _work(functions, read, parent)
            children.append(child)
            if time.monotonic() - begin > _LONG_FORK_SECONDS:
                break
        _wait(children, seconds)
    except OSError:
        # No memory or no processes are left; what is missing is computed by the caller.
        pass
    finally:
        os.close(read)
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _work(functions: Sequence[Callable[[], Any]], read: int, parent: int) -> NoReturn:
    """Calls functions until there are none left."""
    try:
        # Destructors of tensors would ask a device.
        gc.disable()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _native.die_with_parent(parent)
        null = open(os.devnull, "r+")  # noqa: SIM115 -- it stays open until the process ends.
        sys.stdout = sys.stderr = null
        for stream in (0, 1, 2):
            os.dup2(null.fileno(), stream)
        while record := os.read(read, _RECORD_BYTES):
            with contextlib.suppress(Exception):
                functions[int.from_bytes(record, "little")]()
    finally:
        os._exit(0)


def _wait(children: list[int], seconds: float) -> None:
    """Waits for processes, and takes those that have ended from the list."""
    until = time.monotonic() + seconds
    while children and time.monotonic() < until:
        for child in list(children):
            try:
                ended, _ = os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                # Someone else has waited for it.
                ended = child
            if ended:
                children.remove(child)
        time.sleep(_POLL_SECONDS)
