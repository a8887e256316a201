"""Decides which stations a cluster should have. Uses neither a clock nor the cluster itself, so it can be tested alone."""

from __future__ import annotations

from dataclasses import dataclass, field

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class Node:
    """A live node of the cluster."""

    id: str
    gpus: int
    cpus: int


@dataclass
class _Losses:
    count: int = 0
    again_at: float = 0.0


@dataclass
class Plan:
    """The stations of each node. After a loss, a node pauses; the pause doubles until one of its stations has worked."""

    device: str
    """`cpu` or `cuda`."""
    per_node: int
    """Number of stations of a node on the CPU; 0 for as many as its cores allow. On GPUs there is one station per GPU."""
    cores: int
    """Number of cores that a station reserves."""
    stations: dict[int, str] = field(default_factory=dict)
    """Node of each station, by the number of the station."""
    _next: int = 0
    _losses: dict[str, _Losses] = field(default_factory=dict)

    def wanted(self, node: Node) -> int:
        """Returns the number of stations that a node should have."""
        if self.device == "cuda":
            return node.gpus
        return min(self.per_node, node.cpus) if self.per_node else node.cpus // max(self.cores, 1)

    def lack(self, nodes: list[Node]) -> str | None:
        """Returns the reason why no node of a cluster can have a station; `None` if a node can."""
        if any(self.wanted(node) > 0 for node in nodes):
            return None
        needed = "GPU" if self.device == "cuda" else "CPU"
        return f"no node of the cluster has a {needed} for a station, of {len(nodes)} in all; one that joins gets a station"

    def due(self, nodes: list[Node], now: float) -> list[tuple[int, Node]]:
        """Assigns numbers to new stations for the nodes with too few stations. Returns them with their nodes."""
        new = []
        for node in nodes:
            if self._losses.get(node.id, _Losses()).again_at > now:
                continue
            running = sum(place == node.id for place in self.stations.values())
            for _ in range(self.wanted(node) - running):
                self.stations[self._next] = node.id
                new.append((self._next, node))
                self._next += 1
        return new

    def lost(self, station: int, now: float, *, has_worked: bool) -> bool:
        """Removes a station. Returns False if it was removed before."""
        node = self.stations.pop(station, None)
        if node is None:
            return False
        losses = self._losses.setdefault(node, _Losses())
        losses.count = 0 if has_worked else losses.count + 1
        losses.again_at = now + min(_FIRST_PAUSE * 2**losses.count, _LONGEST_PAUSE)
        return True

    def resources(self, node: Node) -> dict[str, float]:
        """Returns the resources that a station requests from the scheduler of the cluster."""
        if self.device == "cuda":
            return {"num_gpus": 1, "num_cpus": max(0, min(self.cores, node.cpus // max(node.gpus, 1)))}
        share = max(node.cpus // max(self.per_node, 1), 1)
        return {"num_gpus": 0, "num_cpus": min(max(self.cores, 1), share)}
