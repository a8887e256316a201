"""Constant folding: computes once the values that depend on no argument of a call, only on the state of a frozen model or on nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.fx

from passnet._backend.compare import difference
from passnet._backend.effects import Recorder
from passnet._backend.modes import changes_mode
from passnet._compile.capture import Captured

# A larger constant is folded only if it has at most twice the bytes of the values that it is computed from.
_LARGE_BYTES = 16 << 20


def fold_tables(captured: Captured, example: Sequence[torch.Tensor]) -> str | None:
    """Folds values that depend on nothing, such as positions, and tables that each call copies from the host.

    Such copies would prevent a CUDA graph. Returns a sentence about what was done; None if there is no such value.
    """
    nodes = captured.module.graph.nodes
    if captured.mutated or not any(node.op == "call_function" and not node.all_input_nodes for node in nodes):
        return None
    return _folded(captured, example, of_state=False)


def fold_constants(captured: Captured, example: Sequence[torch.Tensor]) -> str:
    """Folds normalised weights, casts, position biases and the like, in the captured graph itself. Returns a sentence about what was done.

    The folded values become state. A value is not folded if it is written to, if the caller gets it, or if it depends on random numbers.
    """
    if captured.mutated:
        return "no constant is folded: the graph writes to an argument or a buffer"
    return _folded(captured, example, of_state=True) or "there is no constant to fold"


def _folded(captured: Captured, example: Sequence[torch.Tensor], *, of_state: bool) -> str | None:
    module = captured.module
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    count = len(captured.used)
    places = [node for node in graph.nodes if node.op == "placeholder"]
    state = dict(zip(places[count:], captured.state, strict=True))
    finder = _Finder(torch.fx.GraphModule(module, graph), state if of_state else {})
    with torch.no_grad():
        expected = finder.run(*example)
    constants = finder.constants(expected)
    if not constants:
        return None
    frozen = [state[node] for node in _sources(constants) if node in state]
    last = places[-1] if places else None
    for node, value in constants.items():
        with graph.inserting_before() if last is None else graph.inserting_after(last):
            last = graph.placeholder(f"{node.name}_constant")
        # Noted for the author, as Dynamo would have noted it.
        last.meta["example_value"] = state[last] = value
        node.replace_all_uses_with(last)
    for node in reversed(finder.known):
        if not node.users and node not in finder.writers:
            graph.erase_node(node)
            state.pop(node, None)
    folded = torch.fx.GraphModule(module, graph)
    values = [state[node] for node in graph.nodes if node in state]
    with torch.no_grad():
        reason = difference(tuple(folded.forward(*example[:count], *values)), tuple(expected), ())
    if reason:
        return f"no constant is folded: the result would be another: {reason}"
    captured.module, captured.state = folded, values
    captured.frozen += frozen
    source = "the state of the model" if of_state else "nothing that can change"
    return f"{len(constants)} values are computed once from {source}"


class _Finder(torch.fx.Interpreter):
    """Runs a graph, and keeps the values that depend only on `state`.

    If a node writes other values to memory, such as to zeros that become the cache of a language model, all values in this memory
    are removed.
    """

    def __init__(self, module: torch.fx.GraphModule, state: dict[torch.fx.Node, torch.Tensor]) -> None:
        super().__init__(module)
        self.state = state
        self.known = list(state)
        self.values: dict[torch.fx.Node, Any] = dict(state)
        self.writers: set[torch.fx.Node] = set()
        """Nodes that write to an argument. They stay in the graph if this memory is used."""
        self._versions: dict[torch.fx.Node, int] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        # The end of inference mode restores the state that PyTorch had at its beginning. Under a recorder, that state would include the
        # recorder, which has ended by then.
        is_call = node.op in ("call_function", "call_method") and not changes_mode(node)
        if not is_call or any(source not in self.values for source in node.all_input_nodes):
            # All known values, not only the arguments of the node: the node may write to them through an unknown alias.
            with self._writes(node, [part for value in self.values.values() for part in _parts(value)]) as written:
                value = super().run_node(node)
            self._forget(written)
            return value
        given = [part for source in node.all_input_nodes for part in _parts(self.values[source])]
        with self._writes(node, given) as written, Recorder() as recorder:
            value = super().run_node(node)
        if recorder.is_random:
            self._forget(written)
        elif self._is_known(node, value):
            self.known.append(node)
            self.values[node] = value
            if isinstance(value, torch.Tensor):
                self._versions[node] = value._version
        return value

    @contextlib.contextmanager
    def _writes(self, node: torch.fx.Node, tensors: Sequence[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
        """Yields a list. After the block, it has the tensors that the node wrote to."""
        written: list[torch.Tensor] = []
        before = [tensor._version for tensor in tensors]
        yield written
        written += (tensor for tensor, version in zip(tensors, before, strict=True) if tensor._version != version)
        if written:
            self.writers.add(node)

    def _is_known(self, node: torch.fx.Node, value: Any) -> bool:
        parts = value if isinstance(value, (tuple, list)) else [value]
        return bool(parts) and len(_parts(value)) == len(parts) and not self._is_too_large(node, parts)

    def _forget(self, written: Sequence[torch.Tensor]) -> None:
        """Removes the values in the memory of these tensors."""
        if not written:
            return
        memory = {tensor.untyped_storage().data_ptr() for tensor in written}
        self.values = {
            node: value
            for node, value in self.values.items()
            if not any(part.untyped_storage().data_ptr() in memory for part in _parts(value))
        }

    def _is_too_large(self, node: torch.fx.Node, parts: Sequence[torch.Tensor]) -> bool:
        of = [self.values[source] for source in node.all_input_nodes]
        limit = 2 * sum(value.nbytes for value in of if isinstance(value, torch.Tensor))
        return sum(part.nbytes for part in parts) > max(limit, _LARGE_BYTES)

    def constants(self, results: Sequence[Any]) -> dict[torch.fx.Node, torch.Tensor]:
        """Returns the values to fold: values that other nodes use, in memory that neither the state nor a result has."""
        seen = {
            value.untyped_storage().data_ptr()
            for value in (*self.state.values(), *results)
            if isinstance(value, torch.Tensor)
        }
        return {
            node: self.values[node].detach()
            for node, version in self._versions.items()
            if node in self.values
            and any(user not in self.values for user in node.users)
            # Views share one version counter, so a write to any view is noticed.
            and self.values[node]._version == version
            and self.values[node].untyped_storage().data_ptr() not in seen
        }


def _sources(nodes: Iterable[torch.fx.Node]) -> dict[torch.fx.Node, None]:
    """Returns all nodes that these nodes are computed from, with themselves."""
    found = dict.fromkeys(nodes)
    waiting = list(found)
    while waiting:
        new = [source for source in waiting.pop().all_input_nodes if source not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return found


def _parts(value: Any) -> list[torch.Tensor]:
    """Returns the tensors of a value, without inference tensors, which do not count writes."""
    parts = value if isinstance(value, (tuple, list)) else [value]
    return [part for part in parts if isinstance(part, torch.Tensor) and not part.is_inference()]
