"""Runs functions in forked copies of this process. Their only effect is what they write to disk."""

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
# The time of a fork grows with the memory of the process. After a fork that takes longer than this, no more copies are made.
_LONG_FORK_SECONDS = 0.1
# The copies read the numbers of the functions from a pipe, which holds 64 KiB: 4 bytes times 16,384.
_RECORD_BYTES, _MOST = 4, 16_384


def run_forked(functions: Sequence[Callable[[], Any]], processes: int, *, seconds: float) -> None:
    """Calls each function in one of `processes` copies of this process, and waits at most `seconds` for the copies.

    There are fewer copies if a fork takes long. Results, exceptions and output are lost. The functions must not use a device.
    Copies that take longer than `seconds` are killed. The copies do not have the other threads of this process, so a function
    that waits for such a thread is killed too.
    """
    read, write = os.pipe()
    os.write(write, b"".join(number.to_bytes(_RECORD_BYTES, "little") for number in range(min(len(functions), _MOST))))
    os.close(write)
    parent = os.getpid()
    children: list[int] = []
    try:
        for _ in range(processes):
            with warnings.catch_warnings():
                # Python warns that the copy may contain locks that other threads hold.
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
        # No memory or no processes are left. The caller does the remaining work itself.
        pass
    finally:
        os.close(read)
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _work(functions: Sequence[Callable[[], Any]], read: int, parent: int) -> NoReturn:
    """Takes numbers of functions from the pipe and calls the functions, until none are left."""
    try:
        # A collection could run destructors of tensors, which call the device.
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
    """Waits for the processes in `children`, and removes those that have ended from the list."""
    until = time.monotonic() + seconds
    while children and time.monotonic() < until:
        for child in list(children):
            try:
                ended, _ = os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                # Other code in this process has waited for this child.
                ended = child
            if ended:
                children.remove(child)
        time.sleep(_POLL_SECONDS)
