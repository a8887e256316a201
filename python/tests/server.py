"""A referee small enough for tests: starts the fork server and talks to its workers."""

from __future__ import annotations

import mmap
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from passnet._passes.wire import from_graph
from passnet._worker import protocol

SITE = Path(__file__).resolve().parents[1]
BOOT = (
    "import sys; site = sys.argv[2]; site and sys.path.insert(0, site); "
    "from passnet._worker.fork_server import main; main(int(sys.argv[1]))"
)


class ForkServer:
    """The fork server as a child process."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", BOOT, str(theirs.fileno()), str(SITE)], pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self.control = ours
        self.ready = self.receive()
        self.next = 0

    def receive(self) -> dict[str, Any]:
        frame = protocol.receive(self.control)
        assert frame is not None, "the fork server ended"
        return frame[0]

    def wait_for(self, kind: str, worker: int) -> dict[str, Any]:
        """The reply of that kind about that worker; forgets what comes before it."""
        while (reply := self.receive())["type"] != kind or reply["id"] != worker:
            pass
        return reply

    def compile(self, cache: str = "") -> None:
        """Imports Dynamo and, with a cache, sets up the compiler."""
        protocol.send(self.control, {"type": "compile", "cache": cache})
        while self.receive()["type"] != "compiled":
            pass

    def fork(self, **settings: Any) -> Worker:
        self.next += 1
        scratch = self.scratch / f"worker{self.next}"
        scratch.mkdir()
        ours, theirs = socket.socketpair()
        request = {"memory_bytes": 0, "cpu_s": 0, "sandbox": False, "cache": "", "readable": [], **settings}
        request |= {"type": "fork", "id": self.next, "scratch": str(scratch)}
        protocol.send(self.control, request, theirs.fileno())
        theirs.close()
        forked = self.wait_for("forked", self.next)
        return Worker(self.next, ours, forked["pid"], scratch)

    def close(self) -> None:
        self.control.close()
        self.process.wait(timeout=20)


class Worker:
    """One worker."""

    def __init__(self, number: int, sock: socket.socket, pid: int, scratch: Path) -> None:
        self.number, self.sock, self.pid, self.scratch = number, sock, pid, scratch
        self.ready, _ = self.receive()
        self.windows: list[dict[str, int]] = []

    def receive(self) -> tuple[dict[str, Any], bytes]:
        frame = protocol.receive(self.sock)
        assert frame is not None, (self.scratch / "output.log").read_text()
        message, descriptor = frame
        if descriptor is None:
            return message, b""
        block = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)[:]
        os.close(descriptor)
        return message, block

    def request(self, kind: str, descriptor: int | None = None, **fields: Any) -> dict[str, Any]:
        protocol.send(self.sock, {"type": kind, **fields}, descriptor)
        message, self.block = self.receive()
        return message

    def load(
        self,
        graph: torch.fx.Graph,
        device: str = "cpu",
        threads: int = 1,
        weights: Sequence[str] = (),
        unchanged: Sequence[str] = (),
        **candidate: Any,
    ) -> dict[str, Any]:
        inputs = {"weights": list(weights), "unchanged": list(unchanged)}
        return self.request(
            "load", graph=from_graph(graph), device=device, threads=threads, candidate=candidate, **inputs
        )

    def inputs(self, number: int, **tensors: torch.Tensor) -> dict[str, Any]:
        descriptor, layouts = self.block_of(tensors)
        reply = self.request("inputs", descriptor, set=number, count=1, stride=0, tensors=layouts)
        os.close(descriptor)
        return reply

    def pools(
        self, windows: int = 1, addends: dict[str, tuple] | None = None, **tensors: torch.Tensor
    ) -> dict[str, Any]:
        """Sends tensors whose first dimension has `windows` - 1 elements more than a window; flat, as the worker sees them.

        `addends` has values to add to those of some, and the bounds of the sums.
        """
        addends = addends or {}
        extra = {f"{name} addends": addend[0] for name, addend in addends.items()}
        descriptor, layouts = self.block_of({**tensors, **extra})
        layouts, places = layouts[: len(tensors)], layouts[len(tensors) :]
        for layout in layouts if windows > 1 else []:
            (layout["shape"],) = [[layout["shape"][0] - windows + 1]]
            layout["nbytes"] = layout["nbytes"] // (layout["shape"][0] + windows - 1) * layout["shape"][0]
        self.windows = [{"start": 0, "step": 1}] * len(layouts)
        pools: list[dict[str, Any]] = [{"window": layout, "windows": windows} for layout in layouts]
        for (name, (values, low, high)), place in zip(addends.items(), places, strict=True):
            addend = {"offset": place["offset"], "elements": values.numel(), "low": low, "high": high}
            pools[list(tensors).index(name)]["addend"] = addend
        reply = self.request("pools", descriptor, pools=pools)
        os.close(descriptor)
        return reply

    def block_of(self, tensors: dict[str, torch.Tensor]) -> tuple[int, list[dict[str, Any]]]:
        """A file with the tensors, and their layouts in it."""
        block, layouts = b"", []
        for name, tensor in tensors.items():
            block += b"\0" * (-len(block) % 64)
            content = tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
            layouts.append(
                {
                    "name": name,
                    "dtype": str(tensor.dtype).removeprefix("torch."),
                    "shape": list(tensor.shape),
                    "offset": len(block),
                    "nbytes": len(content),
                }
            )
            block += content
        descriptor = os.memfd_create("inputs")
        os.write(descriptor, block)
        return descriptor, layouts

    def call(
        self, number: int = 0, seed: int = 0, intercept: bool = False, poison: bool = False, spoil: bool = False
    ) -> dict[str, Any]:
        watch = {"operators": intercept, "poison": poison, "spoil": spoil}
        return self.request("call", set=number, seed=seed, watch=watch)

    def time(self, **settings: Any) -> dict[str, Any]:
        """Times what `pools` sent. Lets the calls begin as soon as the worker is ready."""
        calls = {"warmup": 2, "trials": 5, "calls": 1, "windows": self.windows}
        defaults = {**calls, "overwrite": True, "cache": "warm", "restore": False, "seed": 0}
        armed = self.request("time", **{**defaults, **settings})
        if armed["type"] != "armed":
            return armed
        ended = self.request("go")
        return self.receive()[0] if ended == {"type": "ended"} else ended

    def tensor(self, layout: dict[str, Any]) -> torch.Tensor:
        """A tensor of the block that came with the last reply."""
        content = bytearray(self.block[layout["offset"] : layout["offset"] + layout["nbytes"]])
        dtype = getattr(torch, layout["dtype"])
        return (
            torch.frombuffer(content, dtype=dtype).reshape(layout["shape"]) if content else torch.empty(layout["shape"])
        )

    def outputs(self, reply: dict[str, Any]) -> list[torch.Tensor]:
        assert reply["type"] == "outputs", reply
        return [self.tensor(value["layout"]) for value in reply["values"]]
