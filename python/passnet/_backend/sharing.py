"""Decides whether the caller can notice that results of a replaced region share memory with each other."""

from __future__ import annotations

import operator
from collections.abc import Iterator

import torch
import torch.fx

from passnet._passes.load import Pass
from passnet._passes.trace import IN_PLACE_OPERATORS

# Operations whose result is or may be in the memory of their argument.
_NAMES = (
    "T H mT mH real imag view view_as reshape reshape_as flatten unflatten t transpose swapaxes swapdims permute movedim "
    "squeeze unsqueeze expand expand_as broadcast_to narrow select chunk split unbind unfold diagonal getitem getattr "
    "detach contiguous to type_as float double half bfloat16 ravel tensor_split hsplit vsplit dsplit only_result"
)
_VIEWS = frozenset(_NAMES.split())
_IN_PLACE = frozenset(f"i{name}" for name in IN_PLACE_OPERATORS)


def may_share_results(node: torch.fx.Node, rule: Pass) -> bool:
    """Returns whether two results of a pattern are views of one value and `escape_together` holds for the call."""
    results = rule.pattern.output_node().args[0]
    if not isinstance(results, (tuple, list)) or len(results) < 2 or not escape_together(node):
        return False
    roots = [_root(value) for value in results if isinstance(value, torch.fx.Node)]
    return len({*roots}) < len(roots)


def escape_together(node: torch.fx.Node) -> bool:
    """Returns whether two results of a call may be written to later.

    This is so if both, or views of both, are results of the graph, or if any node of the graph writes to an argument.
    """
    results = [user for user in node.users if user.target is operator.getitem]
    if len(results) < 2:
        return False
    # This does not follow which value a write reaches. One write anywhere in the graph counts.
    if any(writes(other) for other in node.graph.nodes):
        return True
    return sum(_is_result(value) for value in results) >= 2


def views_of_one_value(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Returns the views that are results of a graph, or lead to results, if several results have the memory of one value.

    Memory is known by the values that Dynamo noted (`example_value`). Values in the memory of inputs are left out.
    """
    results = graph.output_node().all_input_nodes
    inputs = [node for node in graph.nodes if node.op in ("placeholder", "get_attr")]
    memory = [known for node in results if (known := _memory(node)) is not None]
    shared = {known for known in memory if memory.count(known) > 1} - {_memory(node) for node in inputs}
    views: set[torch.fx.Node] = set()
    for node in reversed(graph.nodes):
        # The result of `chunk` and the like has no memory of its own, but its parts have.
        is_shared = _memory(node) in shared or any(
            user in views and user.target is operator.getitem for user in node.users
        )
        if is_shared and _is_view(node) and (node in results or any(user in views for user in node.users)):
            views.add(node)
    return views


def _memory(node: torch.fx.Node) -> int | None:
    value = node.meta.get("example_value")
    # Values within `vmap` have no storage.
    is_dense = isinstance(value, torch.Tensor) and value.layout == torch.strided
    return value.untyped_storage()._cdata if is_dense and torch._C._has_storage(value) else None


def _root(node: torch.fx.Node) -> torch.fx.Node:
    while _is_view(node) and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    return node


def _is_result(node: torch.fx.Node) -> bool:
    return any(user.op == "output" for value in _views_of(node) for user in value.users)


def _views_of(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    yield node
    for user in node.users:
        if _is_view(user):
            yield from _views_of(user)


def _is_view(node: torch.fx.Node) -> bool:
    return node.op in ("call_method", "call_function") and bool(node.args) and _name(node) in _VIEWS


def writes(node: torch.fx.Node) -> bool:
    """Returns whether a node writes to one of its arguments, judged by the name of the function that it calls."""
    name = _name(node)
    is_in_place = name.endswith("_") and not name.endswith("__")
    return node.op in ("call_method", "call_function") and (
        is_in_place or name == "setitem" or name in _IN_PLACE or "out" in node.kwargs
    )


def _name(node: torch.fx.Node) -> str:
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))
