"""Times of the operations that no region replaces: what is left to make faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch.utils import _pytree as pytree

from passnet._backend.kinds import kind_of
from passnet._backend.modes import changes_mode
from passnet._backend.precision import copies
from passnet._backend.stopwatch import time_of
from passnet._backend.types import device_of
from passnet._passes.canonical import function_name


@dataclass
class Operation:
    """All calls of one operation outside regions."""

    name: str
    count: int = 0
    ns: float = 0.0
    """Time of all these calls together, in nanoseconds."""


@dataclass
class Rest:
    """The operations outside regions, the most expensive first."""

    operations: list[Operation] = field(default_factory=list)
    regions_ns: float = 0.0
    """Time of the kept regions, in nanoseconds."""
    seconds: float = 0.0
    """Time that these measurements took."""

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the operations as plain data, each with its share of the time of all operations and regions."""
        total = self.regions_ns + sum(operation.ns for operation in self.operations) or 1.0
        return [{**vars(operation), "share": operation.ns / total} for operation in self.operations]


def rest_of(
    module: torch.fx.GraphModule,
    regions: Collection[torch.fx.Node],
    regions_ns: float,
    example: Sequence[torch.Tensor],
    *,
    graphed: bool,
) -> Rest:
    """Runs a graph once and times each operation that is no region. `graphed` means the same as for the times of regions."""
    started = time.perf_counter()
    timer = Timer(module, regions, device_of(example), graphed=graphed)
    timer.run(*example)
    found: dict[str, Operation] = {}
    for node, ns in timer.times.items():
        operation = found.setdefault(operation_of(node), Operation(operation_of(node)))
        operation.count += 1
        operation.ns += ns
    operations = sorted(found.values(), key=lambda operation: -operation.ns)
    return Rest(operations, regions_ns, time.perf_counter() - started)


def operation_of(node: torch.fx.Node) -> str:
    """Returns the name of what a call calls, e.g. `torch.relu` or `Tensor.view`."""
    return f"Tensor.{node.target}" if node.op == "call_method" else function_name(node.target)


class Timer(torch.fx.Interpreter):
    """Runs a graph once and times each call outside regions."""

    def __init__(
        self, module: torch.fx.GraphModule, regions: Collection[torch.fx.Node], device: torch.device, *, graphed: bool
    ) -> None:
        super().__init__(module)
        self.regions = regions
        self.device = device
        self.graphed = graphed
        self.times: dict[torch.fx.Node, float] = {}
        """Time of each call in nanoseconds."""
        self._known: dict[Any, float] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        is_call = node.op in ("call_function", "call_method")
        if not is_call or node in self.regions or changes_mode(node):
            return super().run_node(node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        leaves, structure = pytree.tree_flatten((args, kwargs))
        kind = node.target, *map(kind_of, leaves), str(structure)
        before = _versions(leaves)
        result = super().run_node(node)
        if kind not in self._known:
            # Each repetition would write to the arguments again.
            given = leaves if None not in before and _versions(leaves) == before else copies(leaves)
            args, kwargs = pytree.tree_unflatten(given, structure)
            self._known[kind] = time_of(self._call(node, args, kwargs), self.device, graphed=self.graphed)
        self.times[node] = self._known[kind]
        return result

    def _call(self, node: torch.fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        if node.op == "call_method":
            target, (owner, *args) = node.target, args
            return lambda: getattr(owner, target)(*args, **kwargs)
        return lambda: node.target(*args, **kwargs)


def _versions(leaves: Sequence[Any]) -> list[int | None]:
    """Returns the numbers of writes to the tensors among these values; None for inference tensors, whose writes are not counted."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return [None if tensor.is_inference() else tensor._version for tensor in tensors]
