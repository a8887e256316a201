"""The bridge between the driver and a Ray cluster (messages: `crates/passnet-record/src/fleet.rs`).

    python -m passnet._fleet.bridge --address auto --device cuda

The bridge keeps one station running per device, carries lines without reading them, and reports stations that have ended. When the
bridge ends for any reason, its actors end too, and with an actor its station.
"""

from __future__ import annotations

import json
import queue
import time
from typing import Any, TextIO

from passnet._fleet import driver, station
from passnet._fleet.plan import Node, Plan

_FETCH_WAIT = 5.0
"""Longest time that an actor waits for lines, in seconds."""
_LOOK_EVERY = 1.0
"""Time between two queries of the nodes of the cluster, in seconds."""
_START_WAIT = 30.0
"""Time in which an actor has to start, in seconds. After that it is reported."""


class Bridge:
    """The actors of one driver."""

    def __init__(self, ray: Any, plan: Plan, hints: dict[str, str], out: TextIO, work: str = "station") -> None:
        self._ray, self._plan, self._hints, self._out, self._work = ray, plan, hints, out, work
        self._actors: dict[int, Any] = {}
        self._sent: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        self._waiting: dict[Any, int] = {}  # Object reference -> station.
        self._joined: set[int] = set()
        self._looked = 0.0
        self._lack: str | None = None
        self._begun: dict[int, float] = {}
        self._actor_class = ray.remote(station.Station)

    def step(self, requests: queue.SimpleQueue[dict[str, Any] | None]) -> bool:
        """Runs one round. Returns False at the end of the requests."""
        if not self._take_requests(requests):
            return False
        self._look_at_nodes()
        self._take_lines()
        return True

    def close(self) -> None:
        """Ends all actors."""
        for actor in self._actors.values():
            self._ray.kill(actor)

    def _emit(self, event: str, **fields: Any) -> None:
        self._out.write(json.dumps({"event": event, **fields}) + "\n")
        self._out.flush()

    def _take_requests(self, requests: queue.SimpleQueue[dict[str, Any] | None]) -> bool:
        while True:
            try:
                # Without stations, the bridge waits here, for requests only.
                request = requests.get(timeout=0 if self._waiting else 0.2)
            except queue.Empty:
                return True
            if request is None:
                return False
            number = request["slot"]
            if number not in self._actors:
                continue
            if request["op"] == "send":
                self._actors[number].send.remote(self._sent[number], request["line"])
                self._sent[number] += 1
            elif request["op"] == "restart":
                self._ray.kill(self._actors[number])

    def _look_at_nodes(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        nodes = [
            Node(node["NodeID"], int(node["Resources"].get("GPU", 0)), int(node["Resources"].get("CPU", 0)))
            for node in alive
        ]
        lack = self._plan.lack(nodes)
        if lack != self._lack:
            self._lack = lack
            if lack is not None:
                self._emit("note", text=lack)
        for number, begun in list(self._begun.items()):
            if number in self._joined or number not in self._actors:
                del self._begun[number]
            elif now - begun > _START_WAIT:
                del self._begun[number]
                reason = "waits for cores or a device of its node, which other work of the cluster may have"
                self._emit("note", text=f"the actor of station {number} {reason}")
        for number, node in self._plan.due(nodes, now):
            self._begun[number] = now
            self._start(number, node)

    def _start(self, number: int, node: Node) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._actor_class.options(
            **self._plan.resources(node),
            max_restarts=0,
            max_concurrency=4,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        ).remote(self._plan.device, self._hints, self._work)
        self._actors[number], self._sent[number], self._taken[number] = actor, 0, 0
        self._waiting[actor.hello.remote()] = number

    def _take_lines(self) -> None:
        if not self._waiting:
            return
        references = list(self._waiting)
        # A short wait, because requests may arrive at the same time.
        if not self._ray.wait(references, num_returns=1, timeout=0.02)[0]:
            return
        ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        for reference in ready:
            number = self._waiting.pop(reference)
            try:
                answer = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                self._lose(number, str(error).strip().splitlines()[0])
                continue
            self._answer(number, answer)

    def _answer(self, number: int, answer: Any) -> None:
        if number not in self._joined:
            self._joined.add(number)
            self._emit("joined", slot=number, node=answer)
        else:
            lines, ended = answer
            for place, line in lines:
                if place >= self._taken[number]:
                    self._emit("line", slot=number, line=line)
                    self._taken[number] = place + 1
            if ended is not None:
                self._lose(number, ended)
                return
        fetch = self._actors[number].fetch.remote(self._taken[number], _FETCH_WAIT)
        self._waiting[fetch] = number

    def _lose(self, number: int, reason: str) -> None:
        has_worked = self._taken.pop(number, 0) > 1
        if self._plan.lost(number, time.monotonic(), has_worked=has_worked):
            self._ray.kill(self._actors.pop(number))
            if number in self._joined:
                self._emit("lost", slot=number, reason=reason)
            else:
                self._emit("note", text=f"an actor did not start: {reason}")


def main() -> None:
    """Serves one driver until the end of standard input."""
    parser = driver.parser("passnet._fleet.bridge", __doc__)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--work", default="station", choices=["station", "helper"], help="program of the actors")
    parser.add_argument("--stations-per-node", type=int, default=1, help="on the CPU")
    parser.add_argument("--cores", type=int, default=0, help="cores of a station")
    arguments = parser.parse_args()
    per_node = arguments.stations_per_node if arguments.work == "station" else 0
    plan = Plan(arguments.device, per_node, arguments.cores)
    driver.serve(lambda ray, hints, out: Bridge(ray, plan, hints, out, arguments.work), arguments, station)


if __name__ == "__main__":
    main()
