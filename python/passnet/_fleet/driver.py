"""Connects a bridge to its driver and to the cluster. Requests come from standard input; messages go to standard output.

When the driver ends for any reason, the bridge ends too.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol, TextIO

_REACH_WAIT = 10.0
"""Longest wait for the first connection to an address, in seconds."""
_END_WAIT = 10.0
"""Longest time for an orderly end of the work on the cluster, in seconds."""


class Work(Protocol):
    """Work that a bridge does on a cluster for one driver."""

    def step(self, requests: queue.SimpleQueue[dict[str, Any] | None]) -> bool:
        """Runs one round. Returns False at the end of the requests."""
        ...

    def close(self) -> None:
        """Ends the work on the cluster."""
        ...


def parser(program: str, description: str | None) -> argparse.ArgumentParser:
    """Returns a parser with the arguments of all bridges."""
    made = argparse.ArgumentParser(prog=program, description=description)
    made.add_argument("--address", default="auto", help="address of the cluster: auto, local, HOST:PORT, ray://...")
    made.add_argument("--command", default="", help="path of the command on the driver")
    return made


def serve(
    begin: Callable[[Any, dict[str, str], TextIO], Work], arguments: argparse.Namespace, *by_value: ModuleType
) -> None:
    """Connects to the cluster and serves one driver until the end of standard input.

    `begin` makes the work from the module `ray`, hints about the driver's programs, and the file for messages to the driver.
    """
    # Standard output has only messages. The output of Ray goes to standard error.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ray = connect(arguments.address, *by_value)
    hints = {name: os.environ[name] for name in ("PASSNET_PYTHON", "PASSNET_SITE") if name in os.environ}
    hints["PASSNET_BINARY"] = arguments.command
    requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=read_requests, args=(requests,), daemon=True).start()
    work = begin(ray, hints, out)
    try:
        while work.step(requests):
            pass
    except BrokenPipeError:
        pass  # The driver has ended.
    finally:
        work.close()
        ray.shutdown()


def connect(address: str, *by_value: ModuleType) -> Any:
    """Connects to a cluster. Returns the module `ray`. The modules `by_value` are sent to the nodes with the code that uses them."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray gives its workers the niceness 15. Any other work on the machine would take cores from an evaluation that is timed.
    os.environ.setdefault("RAY_worker_niceness", "0")
    try:
        import ray
    except ImportError:
        sys.exit("the package ray is missing; pip install 'ray>=2.52'")
    options = {"log_to_driver": False, "logging_level": "error"}
    try:
        reach(address)
        if address == "local":
            ray.init(address="local", include_dashboard=False, **options)
        elif address.startswith("ray://"):
            ray.init(address=address)  # Ray Client has no other options.
        else:
            ray.init(address=address, **options)
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        sys.exit(f"no cluster at {address}: {error}; start one with `ray start --head`, or use --address local")
    for module in by_value:
        ray.cloudpickle.register_pickle_by_value(module)
    return ray


def reach(address: str) -> None:
    """Opens and closes a connection to `HOST:PORT` or `ray://HOST:PORT`. Ray itself would wait minutes for a closed port.

    Raises `OSError` if there is no connection.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit() and "://" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_WAIT).close()


def read_requests(requests: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    """Reads requests from standard input into the queue. Puts `None` at the end of the input."""
    for line in sys.stdin:
        requests.put(json.loads(line))
    requests.put(None)
    # The main thread ends the actors. If the server of the cluster's state has ended, the main thread would wait a minute for it,
    # and stations would live as long. When this process ends, the raylet ends its actors.
    time.sleep(_END_WAIT)
    os._exit(1)
