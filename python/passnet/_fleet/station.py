"""A Ray actor: one device, and the station on it.

The source of this file is sent to the nodes, so it imports only the standard library.
"""

from __future__ import annotations

import collections
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

KEPT = [
    "CC",
    "CXX",
    "CPATH",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_VISIBLE_DEVICES",
    "PASSNET_CACHE",
    "PASSNET_LOG",
    "PASSNET_PYTHON",
    "PASSNET_SANDBOX_SKIP",
    "PASSNET_SITE",
    "PATH",
    "TMPDIR",
    "TRITON_LIBCUDA_PATH",
    "TRITON_PTXAS_PATH",
    "TZ",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
]
"""Environment variables that a station may see. They exclude tokens and addresses of the cluster."""

_LAST_LINES = 20


def station_environment(variables: dict[str, str], hints: dict[str, str], device: str) -> dict[str, str]:
    """Returns the variables of a station: those on the allow-list, and those paths of the driver that exist on the node."""
    kept = {name: variables[name] for name in KEPT if name in variables}
    for name in ("PASSNET_PYTHON", "PASSNET_SITE"):
        if name not in kept and os.path.exists(hints.get(name, "")):
            kept[name] = hints[name]
    if device == "cpu":
        kept["CUDA_VISIBLE_DEVICES"] = ""
    return kept


def station_command(variables: dict[str, str], hints: dict[str, str]) -> str | None:
    """Returns the command `passnet` of this node; `None` if there is none."""
    neighbour = os.path.join(os.path.dirname(sys.executable), "passnet")
    places = [variables.get("PASSNET_BINARY"), neighbour, shutil.which("passnet"), hints.get("PASSNET_BINARY")]
    return next((place for place in places if place and os.path.exists(place)), None)


class Station:
    """Runs `passnet fleet station`, or another program of a fleet, and keeps its output lines until they are fetched.

    Lines are numbered in both directions, so calls may arrive twice or out of order.
    """

    def __init__(self, device: str, hints: dict[str, str], work: str = "station") -> None:
        variables = dict(os.environ)
        self._changed = threading.Condition()
        self._lines: collections.deque[tuple[int, str]] = collections.deque()
        self._count = 0
        self._ended: str | None = None
        self._work = work
        self._taken = 0
        self._early: dict[int, str] = {}
        self._child: subprocess.Popen[str] | None = None
        command = station_command(variables, hints)
        if command is None:
            self._ended = "the command passnet was not found on this node; install passnet, or set PASSNET_BINARY"
            return
        environment = station_environment(variables, hints, device)
        started = threading.Event()
        # The kernel ends the station when the thread that started it ends. This thread lives as long as the process.
        threading.Thread(target=self._run, args=(command, environment, started), daemon=True).start()
        started.wait()

    def hello(self) -> str:
        """Returns the name of the host."""
        return socket.gethostname()

    def send(self, number: int, line: str) -> None:
        """Takes the line with this number from the driver. Numbers begin at 0."""
        with self._changed:
            self._early[number] = line
            while self._taken in self._early:
                line = self._early.pop(self._taken)
                self._taken += 1
                try:
                    if self._child is not None:
                        self._child.stdin.write(line + "\n")
                        self._child.stdin.flush()
                except OSError:
                    pass  # The station has ended. The next `fetch` reports it.

    def fetch(self, taken: int, wait: float) -> tuple[list[tuple[int, str]], str | None]:
        """Returns the lines after the first `taken` lines, and how the station ended (None if it runs). Waits up to `wait` seconds."""
        with self._changed:
            while self._lines and self._lines[0][0] < taken:
                self._lines.popleft()
            self._changed.wait_for(lambda: self._lines or self._ended is not None, timeout=wait)
            return list(self._lines), self._ended

    def end(self) -> None:
        """Ends the station."""
        if self._child is not None:
            self._child.kill()

    def _run(self, command: str, environment: dict[str, str], started: threading.Event) -> None:
        try:
            self._child = subprocess.Popen(
                [command, "fleet", self._work],
                env=environment,
                cwd="/",
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            self._end_with(f"cannot start {command}: {error}")
            return
        finally:
            started.set()
        words: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        errors = threading.Thread(target=lambda: words.extend(self._child.stderr), daemon=True)
        errors.start()
        for line in self._child.stdout:
            with self._changed:
                self._lines.append((self._count, line.rstrip("\n")))
                self._count += 1
                self._changed.notify_all()
        code = self._child.wait()
        errors.join(timeout=1)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._end_with("".join([f"the {self._work} {how}: ", *words]).strip())

    def _end_with(self, reason: str) -> None:
        with self._changed:
            self._ended = reason
            self._changed.notify_all()
