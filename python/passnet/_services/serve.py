"""Servers of JSON lines: one request per line of standard input, one reply per line of standard output.

:func:`serve` answers in this process, :func:`serve_in_children` in a forked child for each request: there, a crash, a lack of
memory or a timeout fails one request. The parent imports PyTorch and computes nothing. This makes forking safe, and a child
is ready immediately.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._summary import summary

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def serve(handle: Handler) -> None:
    """Answers each request in this process: with what `handle` returns, or ``{"error": ...}``."""
    _serve_lines(lambda line: json.dumps(_answer(handle, json.loads(line))))


def serve_in_children(handle: Handler) -> None:
    """Answers each request in a forked child: with what `handle` returns, or ``{"error": ...}``.

    The fields ``seconds`` and ``bytes`` of a request limit the time and the memory of its child.
    """
    _warm_up()
    _serve_lines(functools.partial(_in_child, handle))


def _serve_lines(answer: Callable[[str], str]) -> None:
    # Models and compilers print to standard output; this descriptor is for replies only.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        channel.write(answer(line) + "\n")
        channel.flush()


def _warm_up() -> None:
    """Makes PyTorch import the modules that the first propagation of a shape needs, which each child would import again."""
    with FakeTensorMode(), torch.no_grad():
        image, kernel = torch.empty(1, 3, 8, 8), torch.empty(4, 3, 3, 3)
        torch.softmax(torch.conv2d(image, kernel).view(4, -1), -1)
    torch.relu(torch.empty(2, device="meta"))


def _in_child(handle: Handler, line: str) -> str:
    request = json.loads(line)
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        status = 1
        try:
            if limit := request.get("bytes"):
                resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
            with os.fdopen(sender, "w") as out:
                out.write(json.dumps(_answer(handle, request)))
            status = 0
        finally:
            os._exit(status)
    os.close(sender)
    seconds = request.get("seconds", 600.0)
    text = _read(receiver, time.monotonic() + seconds)
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


def _read(descriptor: int, deadline: float) -> str | None:
    parts = []
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(descriptor, 1 << 20)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


def _answer(handle: Handler, request: dict[str, Any]) -> dict[str, Any]:
    # Graphs run arbitrary operators, and a compiler may raise anything: such an error fails this request only.
    try:
        return handle(request)
    except Exception as error:
        return {"error": summary(error)}
