"""Processes on several devices, of which one at a time measures on each device while the others are stopped."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_PR_SET_PDEATHSIG = 1


@dataclass
class Chain:
    """Work in an order, each part in a process of its own: `work(part, pipe, device number)`."""

    key: str
    parts: Sequence[Any]
    device: int
    limit: float
    work: Callable[[Any, Any, int], dict[str, Any]]
    finish: Callable[[], None] = lambda: None


@dataclass
class _Process:
    chain: Chain
    part: Any
    process: Any
    pipe: Any
    rest: deque[Any]
    started: float = field(default_factory=time.monotonic)
    is_stopped: bool = False
    is_waiting: bool = False
    idle: float = 0.0
    idle_since: float = 0.0
    compile_from: float = 0.0

    def stop(self) -> None:
        if not self.is_stopped:
            self._signal(signal.SIGSTOP)
            self._idles(True, self.is_waiting)

    def resume(self) -> None:
        if self.is_stopped:
            self._idles(False, self.is_waiting)
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        # It may have ended, and its pipe says so later.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def wait(self, waits: bool) -> None:
        """Notes that it waits for the device, or that it has it."""
        self._idles(self.is_stopped, waits)

    def _idles(self, is_stopped: bool, is_waiting: bool) -> None:
        now = time.monotonic()
        if self.is_stopped or self.is_waiting:
            self.idle += now - self.idle_since
        self.is_stopped, self.is_waiting, self.idle_since = is_stopped, is_waiting, now

    def active(self) -> float:
        """Seconds since its start in which it was neither stopped nor waiting."""
        now = time.monotonic()
        current = now - self.idle_since if self.is_stopped or self.is_waiting else 0.0
        return now - self.started - self.idle - current

    def end(self) -> None:
        self.resume()
        # Its own session: what it has started ends as well.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join(5)
        self.pipe.close()


class Turns:
    """Runs chains; `rows` gets what each part returned, or how it failed."""

    def __init__(
        self, devices: int, most: int, until: float, rows: Callable[[Chain, Any, dict[str, Any]], None]
    ) -> None:
        self.most, self.until, self.rows = most, until, rows
        self.running: list[_Process] = []
        self.asking: list[deque[_Process]] = [deque() for _ in range(devices)]
        self.measuring: list[_Process | None] = [None] * devices

    def run(self, chains: Sequence[Chain]) -> None:
        """Works until all is done or the time is over."""
        waiting = deque(chains)
        try:
            while time.monotonic() < self.until and (waiting or self.running):
                while waiting and len(self.running) < self.most:
                    chain = waiting.popleft()
                    self._start(chain, deque(chain.parts))
                multiprocessing.connection.wait([one.pipe for one in self.running], timeout=0.2)
                for one in list(self.running):
                    self._look(one)
                self._give()
        finally:
            for one in self.running:
                one.end()

    def _start(self, chain: Chain, parts: deque[Any]) -> None:
        part = parts.popleft()
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=_child, args=(chain, part, theirs, ours, os.getpid()))
        process.start()
        theirs.close()
        started = _Process(chain, part, process, ours, parts)
        self.running.append(started)
        if self.measuring[chain.device] is not None:
            started.stop()

    def _look(self, one: _Process) -> None:
        try:
            if one.pipe.poll():
                self._message(one, one.pipe.recv())
            elif not one.process.is_alive():
                self._ended(one, {"failed": f"its process ended with {one.process.exitcode}"})
            elif one.active() > one.chain.limit:
                self._ended(one, {"failed": f"not done after {one.chain.limit:.0f} s"})
        except (EOFError, OSError):
            one.process.join(1)
            self._ended(one, {"failed": f"its process ended with {one.process.exitcode}"})

    def _message(self, one: _Process, message: dict[str, Any]) -> None:
        match message["event"]:
            case "ask":
                one.wait(True)
                self.asking[one.chain.device].append(one)
            case "done":
                self._release(one)
            case "compile":
                one.compile_from = one.active()
            case "compiled":
                one.pipe.send(round(one.active() - one.compile_from, 3))
            case "row":
                self._ended(one, message["row"])

    def _give(self) -> None:
        """Gives each device that is not measuring to the process that has waited longest."""
        for device, queue in enumerate(self.asking):
            if self.measuring[device] is not None or not queue:
                continue
            one = queue.popleft()
            self.measuring[device] = one
            for other in self.running:
                if other is not one and other.chain.device == device:
                    other.stop()
            one.resume()
            one.wait(False)
            one.pipe.send("go")

    def _release(self, one: _Process) -> None:
        device = one.chain.device
        self.measuring[device] = None
        # The next one measures at once; if none waits, the others continue.
        if not self.asking[device]:
            for other in self.running:
                if other.chain.device == device:
                    other.resume()

    def _ended(self, one: _Process, row: dict[str, Any]) -> None:
        if one not in self.running:
            # A pipe that broke while the end of its process was handled.
            return
        self.running.remove(one)
        one.end()
        queue = self.asking[one.chain.device]
        if one in queue:
            queue.remove(one)
        if self.measuring[one.chain.device] is one:
            self._release(one)
        self.rows(one.chain, one.part, row)
        if one.rest:
            self._start(one.chain, one.rest)
        else:
            one.chain.finish()


def _child(chain: Chain, part: Any, pipe: Any, ours: Any, parent: int) -> None:
    ours.close()
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    try:
        row = chain.work(part, pipe, chain.device)
    except BaseException as fault:
        row = {"failed": f"{type(fault).__name__}: {fault}"[:400], "at": traceback.format_exc()[-900:]}
    pipe.send({"event": "row", "row": row})
    # Nothing of the parent's is to be closed twice.
    os._exit(0)
