"""Checks of the indices by which a pattern reads values. For an invalid index PyTorch raises `IndexError`; a kernel would read other memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.ranges import range_of
from passnet._backend.sharing import writes
from passnet._passes.load import Pass

# Number of shapes of arguments for which a pass remembers the sizes of its computed tables.
_MOST_SIZES = 64


@dataclass(frozen=True)
class _Lookup:
    """A selection from a dimension of a table: the nodes of index and table, and the dimension."""

    index: torch.fx.Node
    table: torch.fx.Node
    dim: int
    may_be_negative: bool

    def is_safe(self, index: Any, size: int) -> bool:
        # Indices on a GPU are not checked: the host would have to wait. PyTorch does not wait either; its kernel ends the process.
        if not isinstance(index, torch.Tensor) or index.device.type != "cpu":
            return True
        if index.dtype not in (torch.int64, torch.int32) or not index.numel():
            return True
        low, high = torch.aminmax(index)
        return high.item() < size and low.item() >= (-size if self.may_be_negative else 0)


def with_safe_indices(rule: Pass, run: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the replacement with a check: it raises `IndexError` before it changes anything if an index is out of range.

    An index that the pattern computes is computed a second time for the check, unless the text of the pattern shows its range.
    """
    lookups = _unsure(rule)
    if not lookups:
        return run
    indices = _Computed(rule.pattern, [lookup.index for lookup in lookups])
    sizes = _Sizes(rule.pattern, lookups)

    def checked(*values: Any) -> Any:
        if is_on_device(values):
            return run(*values)
        for lookup, index, size in zip(lookups, indices(values), sizes(values), strict=True):
            if not lookup.is_safe(index, size):
                raise IndexError("index out of range")
        return run(*values)

    return checked


def has_unsafe_indices(rule: Pass) -> bool:
    """Returns whether the indices of a pass must be checked in each call on a CPU."""
    return bool(_unsure(rule))


def is_on_device(values: Sequence[Any]) -> bool:
    """Returns whether a tensor is on another device than the CPU. The indices of such a call are not checked."""
    return any(value.device.type != "cpu" for value in values if isinstance(value, torch.Tensor))


def _unsure(rule: Pass) -> list[_Lookup]:
    """Returns the lookups whose indices may be out of range."""
    return [
        lookup
        for lookup in _lookups(rule.pattern)
        # A range that the text shows is the same in each call. Were it out of range, the first call would have failed.
        if lookup.index.op == "placeholder" or range_of(lookup.index) is None
    ]


class _Computed:
    """Computes the values of some nodes of a graph from its arguments, and leaves the arguments unchanged."""

    def __init__(self, graph: torch.fx.Graph, wanted: Sequence[torch.fx.Node]) -> None:
        given = graph.find_nodes(op="placeholder")
        self.places = [given.index(node) for node in wanted] if set(wanted) <= set(given) else None
        self.forward = None if self.places is not None else _part(graph, wanted)

    def __call__(self, values: Sequence[Any]) -> Sequence[Any]:
        if self.forward is not None:
            return self.forward(*values)
        return [values[place] for place in self.places or ()]


class _Sizes:
    """Sizes of the dimensions from which lookups select. Sizes of computed tables are found once for each set of shapes of arguments."""

    def __init__(self, graph: torch.fx.Graph, lookups: Sequence[_Lookup]) -> None:
        self.tables = _Computed(graph, [lookup.table for lookup in lookups])
        self.dims = [lookup.dim for lookup in lookups]
        self.known: dict[Any, list[int]] = {}

    def __call__(self, values: Sequence[Any]) -> list[int]:
        if self.tables.forward is None:
            return self._of(values)
        key = tuple(value.shape if isinstance(value, torch.Tensor) else value for value in values)
        found = self.known.get(key)
        if found is None:
            with FakeTensorMode() as mode:
                fake = [mode.from_tensor(value) if isinstance(value, torch.Tensor) else value for value in values]
                found = self._of(fake)
            if len(self.known) < _MOST_SIZES:
                self.known[key] = found
        return found

    def _of(self, values: Sequence[Any]) -> list[int]:
        return [table.shape[dim] for table, dim in zip(self.tables(values), self.dims, strict=True)]


def _part(graph: torch.fx.Graph, wanted: Sequence[torch.fx.Node]) -> Callable[..., Any]:
    part = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    has_writes = any(writes(node) for node in graph.nodes)
    for node in graph.nodes:
        if node.op == "output":
            continue
        copies[node] = part.node_copy(node, lambda argument: copies[argument])
        # The indices are computed before the call, so writes go to copies of the caller's tensors.
        if node.op == "placeholder" and has_writes:
            copies[node] = part.call_function(_copied, (copies[node],))
    part.output(tuple(copies[node] for node in wanted))
    # Writes stay even if nothing uses their result: an index may be read from a tensor that they change.
    part.eliminate_dead_code(lambda node: node.op in ("placeholder", "output") or writes(node))
    return torch.fx.GraphModule({}, part).forward


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _lookups(graph: torch.fx.Graph) -> Iterator[_Lookup]:
    for node in graph.nodes:
        for index, table, dim, may_be_negative in _selections(node):
            if isinstance(index, torch.fx.Node) and isinstance(table, torch.fx.Node) and isinstance(dim, int):
                yield _Lookup(index, table, dim, may_be_negative)


def _selections(node: torch.fx.Node) -> Iterator[tuple[Any, Any, Any, bool]]:
    """Yields index, table, dimension, and whether negative indices count from the end, for each selection of a node."""
    target = node.target
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    name = name.split(".")[0]
    given = dict(enumerate(node.args))
    if name == "embedding":
        first, second = node.kwargs.get("input", given.get(0)), node.kwargs.get("weight", given.get(1))
        # The function of `torch.nn.functional` takes the indices first; the operator takes the weight first.
        is_functional = getattr(target, "__module__", "") == "torch.nn.functional"
        yield (first, second, 0, False) if is_functional else (second, first, 0, False)
    elif name in ("index_select", "gather"):
        dim, index = node.kwargs.get("dim", given.get(1)), node.kwargs.get("index", given.get(2))
        yield index, node.kwargs.get("input", given.get(0)), dim, False
    elif name in ("getitem", "__getitem__"):
        key = given.get(1)
        parts = key if isinstance(key, tuple) else (key,)
        if all(isinstance(part, (slice, torch.fx.Node)) for part in parts):
            for dim, part in enumerate(parts):
                yield part, given.get(0), dim, True
    elif name == "index" and isinstance(given.get(1), (list, tuple)):
        for dim, part in enumerate(given[1]):
            yield part, given.get(0), dim, True
