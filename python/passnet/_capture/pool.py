"""Runs jobs in forked processes, several at a time, each with limits on time and memory.

A job is a function without arguments that returns plain data. It runs in a fork of this process, so modules that are imported here need
no second import. It runs in a separate session, so each process that it starts ends with it. If a job raises, exits, crashes, hangs,
takes all memory or prints, this affects the :class:`Outcome` of that job only.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from passnet._summary import summary

# Seconds between two checks of memory and time.
_INTERVAL = 0.05
_PR_SET_PDEATHSIG = 1


@dataclasses.dataclass(frozen=True)
class Job:
    """A function to run, and the file for its output."""

    key: Any
    work: Callable[[], Any]
    log: Path


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a job. `status` is `done` with `value`, or one of `raised`, `crashed`, `timeout`, `out_of_memory`."""

    key: Any
    status: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    value: Any = None
    reason: str = ""


@dataclasses.dataclass
class _Running:
    job: Job
    process: Any
    receiver: multiprocessing.connection.Connection
    started: float
    peak_bytes: int = 0


def run(jobs: Iterable[Job], parallel: int, seconds: float, memory_bytes: int) -> Iterator[Outcome]:
    """Runs the jobs, at most `parallel` at a time, and yields their outcomes in the order in which they end.

    `seconds` and `memory_bytes` are the limits of one job. Ends early, without outcomes for running jobs, if the caller stops or the
    parent of this process has ended.
    """
    waiting = iter(jobs)
    running: list[_Running] = []
    parent = os.getppid()
    try:
        while os.getppid() == parent:
            while len(running) < parallel and (job := next(waiting, None)) is not None:
                running.append(_start(job))
            if not running:
                return
            multiprocessing.connection.wait([one.receiver for one in running], timeout=_INTERVAL)
            for one in list(running):
                outcome = _look(one, seconds, memory_bytes)
                if outcome is not None:
                    running.remove(one)
                    _end(one)
                    yield outcome
    finally:
        for one in running:
            _end(one)


def _start(job: Job) -> _Running:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(job, sender, os.getpid()))
    process.start()
    # The copy in the parent would keep the pipe open after the job has ended.
    sender.close()
    return _Running(job, process, receiver, time.monotonic())


def _look(one: _Running, seconds: float, memory_bytes: int) -> Outcome | None:
    """Returns the outcome of a job that has ended or has exceeded a limit; None for any other job."""
    taken = time.monotonic() - one.started
    now = _resident_bytes(one.process.pid)
    one.peak_bytes = max(one.peak_bytes, now)

    def outcome(status: str, reason: str = "", value: Any = None) -> Outcome:
        cpu_seconds = round(_cpu_seconds(one.process.pid), 3)
        return Outcome(one.job.key, status, round(taken, 3), cpu_seconds, one.peak_bytes, value, reason)

    # Checked first, so that a result that arrives at the time limit still counts.
    if one.receiver.poll():
        try:
            status, value, reason = one.receiver.recv()
            return outcome(status, reason, value)
        except Exception:
            # The pipe is closed, or contains bytes that the code of the job wrote.
            one.process.join(_INTERVAL)
            return outcome("crashed", _cause(one.process.exitcode))
    if now > memory_bytes:
        return outcome("out_of_memory", f"took more than {memory_bytes / 2**30:.1f} GiB of memory; raise --memory-gib")
    if taken > seconds:
        return outcome("timeout", f"not done after {seconds:g} s; raise --timeout")
    return None


def _cause(code: int | None) -> str:
    if code is None:
        return "the process of the model closed its pipe"
    if code < 0:
        return f"the process of the model was killed by {signal.Signals(-code).name}"
    return f"the process of the model ended with exit status {code}"


def _end(one: _Running) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # The child leads a separate session, so its children end with it.
        os.killpg(one.process.pid, signal.SIGKILL)
    one.process.kill()
    one.process.join()
    one.receiver.close()


def _resident_bytes(pid: int) -> int:
    """Returns the private memory of the process in bytes; 0 if the process has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            # Counts private pages only: pages that are shared with the parent do not belong to the job.
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def _cpu_seconds(pid: int) -> float:
    """Returns the CPU time of the process and of its ended children, in seconds."""
    try:
        # The name of the program comes first, in brackets. It may contain blanks and brackets.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0


def _child(job: Job, sender: multiprocessing.connection.Connection, parent: int) -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have ended before the death signal was requested.
    if os.getppid() != parent:
        os._exit(1)
    _redirect(job.log)
    with contextlib.suppress(OSError):
        # If the machine runs out of memory, the kernel kills this process first and not the parent.
        Path("/proc/self/oom_score_adj").write_text("1000")
    # A collection would write to, and so copy, the pages of the parent's objects. Traces make many objects and few cycles.
    gc.freeze()
    gc.disable()
    try:
        message: tuple[Any, ...] = ("done", job.work(), "")
    except MemoryError as error:
        message = ("out_of_memory", None, str(error) or "MemoryError")
    except BaseException as error:
        traceback.print_exc()
        message = ("raised", None, summary(error))
    sys.stdout.flush()
    sys.stderr.flush()
    sender.send(message)
    # The parent reads memory and time, then kills the session, so no exit handler or thread of the model runs.
    while True:
        signal.pause()


def _redirect(log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
