"""Values that no argument of a call decides are computed once: of the state of a frozen model, or of nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx

from passnet._backend.compare import difference
from passnet._backend.effects import Recorder
from passnet._compile.capture import Captured

# A larger constant is folded only if it is no more than twice the size of what it is computed from.
_LARGE_BYTES = 16 << 20


def fold_tables(captured: Captured, example: Sequence[torch.Tensor]) -> str | None:
    """Folds what depends on nothing, such as positions and tables that are copied from the host in each call, which prevent a CUDA graph.

    Returns what was done, in words; None if there is nothing of that kind.
    """
    nodes = captured.module.graph.nodes
    if captured.mutated or not any(node.op == "call_function" and not node.all_input_nodes for node in nodes):
        return None
    return _folded(captured, example, of_state=False)


def fold_constants(captured: Captured, example: Sequence[torch.Tensor]) -> str:
    """Folds normalised weights, casts, position biases and the like, in the captured graph itself. Returns what was done, in words.

    The results become state. Nothing is folded that is written to, that a caller gets, or that depends on random numbers.
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
    last = places[-1] if places else None
    for node, value in constants.items():
        with graph.inserting_before() if last is None else graph.inserting_after(last):
            last = graph.placeholder(f"{node.name}_constant")
        # The author reads the type, as Dynamo would have noted it.
        last.meta["example_value"] = state[last] = value
        node.replace_all_uses_with(last)
    for node in reversed(finder.known):
        if not node.users:
            graph.erase_node(node)
            state.pop(node, None)
    folded = torch.fx.GraphModule(module, graph)
    values = [state[node] for node in graph.nodes if node in state]
    with torch.no_grad():
        reason = difference(tuple(folded.forward(*example[:count], *values)), tuple(expected), ())
    if reason:
        return f"no constant is folded: the result would be another: {reason}"
    captured.module, captured.state = folded, values
    source = "the state of the model" if of_state else "nothing that can change"
    return f"{len(constants)} values are computed once from {source}"


class _Finder(torch.fx.Interpreter):
    """Runs a graph, and keeps the values that depend on nothing but this state."""

    def __init__(self, module: torch.fx.GraphModule, state: dict[torch.fx.Node, torch.Tensor]) -> None:
        super().__init__(module)
        self.state = state
        self.known = list(state)
        self.values: dict[torch.fx.Node, Any] = dict(state)
        self._versions: dict[torch.fx.Node, int] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        if node.op not in ("call_function", "call_method") or any(i not in self.values for i in node.all_input_nodes):
            return super().run_node(node)
        with Recorder() as recorder:
            value = super().run_node(node)
        parts = value if isinstance(value, (tuple, list)) else [value]
        is_known = bool(parts) and all(isinstance(part, torch.Tensor) and not part.is_inference() for part in parts)
        if is_known and not recorder.is_random and not self._is_too_large(node, parts):
            self.known.append(node)
            self.values[node] = value
            if isinstance(value, torch.Tensor):
                self._versions[node] = value._version
        return value

    def _is_too_large(self, node: torch.fx.Node, parts: Sequence[torch.Tensor]) -> bool:
        of = [self.values[source] for source in node.all_input_nodes]
        limit = 2 * sum(value.nbytes for value in of if isinstance(value, torch.Tensor))
        return sum(part.nbytes for part in parts) > max(limit, _LARGE_BYTES)

    def constants(self, results: Sequence[Any]) -> dict[torch.fx.Node, torch.Tensor]:
        """The values to fold: those that other nodes use, in memory that nothing else sees."""
        seen = {
            value.untyped_storage().data_ptr()
            for value in (*self.state.values(), *results)
            if isinstance(value, torch.Tensor)
        }
        return {
            node: self.values[node].detach()
            for node, version in self._versions.items()
            if any(user not in self.values for user in node.users)
            # Views share the count of writes, so a write to any of them shows.
            and self.values[node]._version == version
            and self.values[node].untyped_storage().data_ptr() not in seen
        }
