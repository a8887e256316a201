"""Servers of JSON lines: one request per line of standard input, one reply per line of standard output.

:func:`serve` answers in this process. :func:`serve_in_children` answers each request in a forked child, so a crash, a lack of memory or
a timeout fails only one request. The parent imports PyTorch but computes nothing, which makes a fork safe. A child is ready
immediately.

The argument ``--memory-bytes N`` limits the memory that a request may take. The error of a request that needs more begins with
:data:`OVER_MEMORY`.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._summary import summary

Handler = Callable[[dict[str, Any]], dict[str, Any]]

# Beginning of the error of a request that exceeds the memory limit. `services::OVER_MEMORY` of passnet-record is the same text.
OVER_MEMORY = "over the memory limit: "
# Parts of the messages of PyTorch, Python and the system when an allocation fails.
_NO_MEMORY = ("can't allocate memory", "Cannot allocate memory", "not enough memory", "std::bad_alloc")
# Seconds between two checks that the requesting program still runs.
_INTERVAL = 1.0

# Largest number of bytes that one request may take; None without a limit.
_memory_bytes: int | None = None


def serve(handle: Handler) -> None:
    """Answers each request in this process with the result of `handle`, or with ``{"error": ...}``."""
    _read_arguments()
    _limit_memory()
    _serve_lines(lambda line: json.dumps(_answer(handle, json.loads(line))))


def serve_in_children(handle: Handler) -> None:
    """Answers each request in a forked child with the result of `handle`, or with ``{"error": ...}``.

    The field ``seconds`` of a request is the time limit of its child.
    """
    _read_arguments()
    _warm_up()
    _serve_lines(functools.partial(_in_child, handle))


def _read_arguments() -> None:
    global _memory_bytes
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory-bytes", type=int)
    _memory_bytes = parser.parse_args().memory_bytes


def _limit_memory() -> None:
    """Limits the memory of this process to its present size plus the limit of a request."""
    if _memory_bytes is not None:
        limit = _data_bytes() + _memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _data_bytes() -> int:
    """Returns the bytes of this process that RLIMIT_DATA counts. PyTorch reserves most of them and never uses them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)


def is_over_memory(error: BaseException) -> bool:
    """Returns whether an error, or an error that it was raised from, says that an allocation exceeded a memory limit."""
    if _memory_bytes is None:
        return False
    causes, cause = [], error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return any(isinstance(one, MemoryError) or any(text in str(one) for text in _NO_MEMORY) for one in causes)


def reason(error: BaseException) -> str:
    """Returns the sentence that reports an error of a request."""
    if not is_over_memory(error):
        return summary(error)
    return f"{OVER_MEMORY}more than {_memory_bytes / 2**30:.1f} GiB are needed; raise --memory-gib"


def _serve_lines(answer: Callable[[str], str]) -> None:
    # Replies have their own descriptor, because models and compilers print to standard output.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        channel.write(answer(line) + "\n")
        channel.flush()


def _warm_up() -> None:
    """Makes PyTorch import the modules that a propagation of shapes needs, so that not each child imports them."""
    with FakeTensorMode(), torch.no_grad():
        image, kernel = torch.empty(1, 3, 8, 8), torch.empty(4, 3, 3, 3)
        torch.softmax(torch.conv2d(image, kernel).view(4, -1), -1)
    torch.relu(torch.empty(2, device="meta"))
    # The garbage collector of a child does not visit what is here now, and so does not copy its memory.
    gc.collect()
    gc.freeze()


def _in_child(handle: Handler, line: str) -> str:
    request = json.loads(line)
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        status = 1
        try:
            _limit_memory()
            with os.fdopen(sender, "w") as out:
                out.write(json.dumps(_answer(handle, request)))
            status = 0
        finally:
            os._exit(status)
    os.close(sender)
    seconds = request.get("seconds", 600.0)
    try:
        text = _read(receiver, time.monotonic() + seconds)
    except _OrphanError:
        os.kill(child, signal.SIGKILL)
        sys.exit(1)
    os.close(receiver)
    if text is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if text is None:
        return json.dumps({"error": f"not done after {seconds:g} s"})
    if status != 0 or not text:
        code = os.waitstatus_to_exitcode(status)
        cause = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return json.dumps({"error": f"the process of the graph ended: {cause}"})
    return text


class _OrphanError(RuntimeError):
    """The requesting program has ended."""


def _read(descriptor: int, deadline: float) -> str | None:
    """Returns all that a child writes until it ends; None if it has not ended at the deadline."""
    parts, parent = [], os.getppid()
    while True:
        left = max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([descriptor], [], [], min(left, _INTERVAL))
        if not ready:
            # A requesting program that is interrupted does not end this process.
            if os.getppid() != parent:
                raise _OrphanError
            if left <= _INTERVAL and time.monotonic() >= deadline:
                return None
            continue
        part = os.read(descriptor, 1 << 20)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


def _answer(handle: Handler, request: dict[str, Any]) -> dict[str, Any]:
    # Graphs run arbitrary operators, and compilers may raise any exception. An exception fails only this request.
    try:
        return handle(request)
    except Exception as error:
        return {"error": reason(error)}
