"""Runs functions in forked copies of this process. Their only effect is what they write to disk."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from passnet import _native

# The time of a fork grows with the memory of the process. After a fork that takes longer than this, no more copies are made.
_LONG_FORK_SECONDS = 0.1
# The copies read the numbers of the functions from a pipe, and write them to another. A pipe holds 64 KiB: 4 bytes times 16,384.
_RECORD_BYTES, _MOST = 4, 16_384


class Forked:
    """Functions that copies of this process call, each of them once and in their order, while this process continues.

    There are at most `processes` copies, and fewer if a fork takes long. Results, exceptions and output are lost. The functions must
    not use a device. The copies do not have the other threads of this process, so a function that waits for such a thread does not
    end. `close`, or the end of the context, kills the copies that still run.
    """

    def __init__(self, functions: Sequence[Callable[[], Any]], processes: int, *, seconds: float) -> None:
        self._count = len(functions)
        self._until = time.monotonic() + seconds
        self._ended: set[int] = set()
        self._children: list[int] = []
        self._reports, reports = os.pipe()
        try:
            with _numbers(min(len(functions), _MOST)) as numbers:
                self._fork(functions, processes, numbers, reports)
        except BaseException:
            self.close()
            raise
        finally:
            # From now on only the copies can write to the pipe, so its end says that none of them runs.
            os.close(reports)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, numbers: Iterable[int] | None = None) -> None:
        """Waits for the functions with these numbers, or for all: until they have ended, no copy runs, or the time of the copies is over.

        The copies are killed when their time is over.
        """
        wanted = set(range(self._count) if numbers is None else numbers)
        while not wanted <= self._ended and self._children:
            self._read_reports()

    def close(self) -> None:
        """Kills the copies that still run."""
        for child in self._children:
            # If other code in this process has waited for the child, its number may be that of another process by now.
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(child, os.WNOHANG)[0] == 0:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
        self._children = []
        if self._reports is not None:
            os.close(self._reports)
            self._reports = None

    def _fork(self, functions: Sequence[Callable[[], Any]], processes: int, numbers: int, reports: int) -> None:
        parent = os.getpid()
        # Without memory or processes there are fewer copies, or none. The caller does the remaining work itself.
        with contextlib.suppress(OSError):
            for _ in range(processes):
                with warnings.catch_warnings():
                    # Python warns that the copy may contain locks that other threads hold.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    begin = time.monotonic()
                    child = os.fork()
                if child == 0:
                    _work(functions, numbers, reports, parent)
                self._children.append(child)
                if time.monotonic() - begin > _LONG_FORK_SECONDS:
                    break

    def _read_reports(self) -> None:
        ready = select.poll()
        ready.register(self._reports, select.POLLIN)
        left = self._until - time.monotonic()
        reports = os.read(self._reports, _MOST) if left > 0 and ready.poll(left * 1000) else b""
        if not reports:
            self.close()
        # Records are written and read in whole, because a pipe does not split writes of this size.
        for place in range(0, len(reports), _RECORD_BYTES):
            self._ended.add(int.from_bytes(reports[place : place + _RECORD_BYTES], "little"))


@contextlib.contextmanager
def _numbers(count: int) -> Iterator[int]:
    """A context with a pipe from which the numbers below `count` can be read."""
    read, write = os.pipe()
    try:
        os.write(write, b"".join(number.to_bytes(_RECORD_BYTES, "little") for number in range(count)))
        os.close(write)
        yield read
    finally:
        os.close(read)


def _work(functions: Sequence[Callable[[], Any]], numbers: int, reports: int, parent: int) -> NoReturn:
    """Takes numbers of functions from a pipe and calls the functions, until none are left. Reports each that has ended."""
    try:
        # A collection could run destructors of tensors, which call the device.
        gc.disable()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _native.die_with_parent(parent)
        null = open(os.devnull, "r+")  # noqa: SIM115 -- it stays open until the process ends.
        sys.stdout = sys.stderr = null
        for stream in (0, 1, 2):
            os.dup2(null.fileno(), stream)
        while record := os.read(numbers, _RECORD_BYTES):
            with contextlib.suppress(Exception):
                functions[int.from_bytes(record, "little")]()
            os.write(reports, record)
    finally:
        os._exit(0)
