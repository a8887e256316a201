"""A server of JSON lines whose every request is handled in a forked child.

A crash, a lack of memory or a timeout costs one request. The parent imports PyTorch and computes nothing, so that forking it
is safe and a child is ready at once.
"""

from __future__ import annotations

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


def serve(handle: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answers each line of standard input with one line: what `handle` returns, or ``{"error": ...}``.

    A request may say ``seconds`` and ``bytes``: what its child may take.
    """
    _warm_up()
    # Models and compilers print; the channel is ours alone.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        channel.write(_in_child(handle, line) + "\n")
        channel.flush()


def _warm_up() -> None:
    """Has PyTorch import what its first propagation of a shape imports: seconds that each child would take again."""
    with FakeTensorMode(), torch.no_grad():
        image, kernel = torch.empty(1, 3, 8, 8), torch.empty(4, 3, 3, 3)
        torch.softmax(torch.conv2d(image, kernel).view(4, -1), -1)
    torch.relu(torch.empty(2, device="meta"))


def _in_child(handle: Callable[[dict[str, Any]], dict[str, Any]], line: str) -> str:
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
                out.write(json.dumps(_guarded(handle, request)))
            status = 0
        finally:
            os._exit(status)
    os.close(sender)
    text = _read(receiver, time.monotonic() + request.get("seconds", 600.0))
    os.close(receiver)
    if text is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if text is None:
        return json.dumps({"error": f"not done after {request['seconds']:g} s"})
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


def _guarded(handle: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    # Graphs run arbitrary operators: whatever they raise is a failure of that graph alone.
    try:
        return handle(request)
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no message")
        return {"error": f"{type(error).__name__}: {reason}"}
