"""Decides which stations a cluster should have. Pure: no clock, no cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class Node:
    """A node of the cluster that is alive."""

    id: str
    gpus: int
    cpus: int


@dataclass
class _Losses:
    count: int = 0
    again_at: float = 0.0


@dataclass
class Plan:
    """Stations by node, with a pause after losses that doubles until a station has worked."""

    device: str
    """`cpu` or `cuda`."""
    per_node: int
    """Stations of a node on the CPU, 0 for as many as it has cores for; on GPUs there is one per GPU."""
    cores: int
    """Cores that a station claims."""
    stations: dict[int, str] = field(default_factory=dict)
    """Node by number of the station."""
    _next: int = 0
    _losses: dict[str, _Losses] = field(default_factory=dict)

    def wanted(self, node: Node) -> int:
        """Returns the number of stations that a node should have."""
        if self.device == "cuda":
            return node.gpus
        return min(self.per_node, node.cpus) if self.per_node else node.cpus // max(self.cores, 1)

    def lack(self, nodes: list[Node]) -> str | None:
        """Returns why no node of a cluster can have a station; `None` if one can."""
        if any(self.wanted(node) > 0 for node in nodes):
            return None
        needed = "GPU" if self.device == "cuda" else "CPU"
        return f"no node of the cluster has a {needed} for a station, of {len(nodes)} in all; one that joins gets a station"

    def due(self, nodes: list[Node], now: float) -> list[tuple[int, Node]]:
        """Numbers new stations for the nodes that have too few."""
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
        """Forgets a station; false if it is gone already."""
        node = self.stations.pop(station, None)
        if node is None:
            return False
        losses = self._losses.setdefault(node, _Losses())
        losses.count = 0 if has_worked else losses.count + 1
        losses.again_at = now + min(_FIRST_PAUSE * 2**losses.count, _LONGEST_PAUSE)
        return True

    def resources(self, node: Node) -> dict[str, float]:
        """Returns the resources that a station asks of the scheduler of the cluster."""
        if self.device == "cuda":
            return {"num_gpus": 1, "num_cpus": max(0, min(self.cores, node.cpus // max(node.gpus, 1)))}
        share = max(node.cpus // max(self.per_node, 1), 1)
        return {"num_gpus": 0, "num_cpus": min(max(self.cores, 1), share)}
