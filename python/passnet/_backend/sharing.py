"""Memory that results of a graph share, and arguments that a graph writes to."""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Iterator, Sequence
from typing import Any

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
# Operations that return their argument in evaluation. With PyTorch 2.11, the tensors without data of Dynamo do not show this. In training
# they count too: the author leaves random numbers to PyTorch anyway.
_DROPOUTS = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout".split()  # noqa: SIM905
)
# Those that return their argument itself for each shape. Arguments: value, share of elements that are dropped, whether they are on.
_WHOLE_DROPOUTS = frozenset(
    getattr(torch.nn.functional, name) for name in ("dropout", "alpha_dropout", "feature_alpha_dropout")
)
SPLITS = "a result is one of several views of an input that is written to"
"""Reason why AOTAutograd does not compile a graph for which `splits_written_input` holds."""

_IN_PLACE = frozenset(f"i{name}" for name in IN_PLACE_OPERATORS)


def may_share_results(node: torch.fx.Node, rule: Pass) -> bool:
    """Returns whether two results of a pattern are views of one value and `escape_together` holds for the call."""
    results = rule.pattern.output_node().args[0]
    if not isinstance(results, (tuple, list)) or len(results) < 2 or not escape_together(node):
        return False
    roots = [root_of(value) for value in results if isinstance(value, torch.fx.Node)]
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


def left_to_pytorch(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Returns the nodes that PyTorch has to compute so that results of a graph are the same objects, or share memory, as in eager mode.

    A kernel writes each result into memory of its own. These nodes copy nothing: they lead from a value to a result that has the memory
    of another result or of an input. Dynamo noted the objects and their memory (`example_value`). Views of inputs that the author knows
    are left out, because its passes make them as views.
    """
    results = graph.output_node().all_input_nodes
    inputs = [node for node in graph.nodes if node.op in ("placeholder", "get_attr")]
    of_inputs = {known for node in inputs if (known := _memory(node)) is not None}
    memory = [known for node in results if (known := _memory(node)) is not None]
    shared = {known for known in memory if memory.count(known) > 1}
    seen = [id(node.meta.get("example_value")) for node in (*inputs, *results)]
    left: set[torch.fx.Node] = set()
    for node in reversed(graph.nodes):
        if not (node in results or any(user in left for user in node.users)) or not _copies_nothing(node):
            continue
        # The result of `chunk` and the like has no memory of its own, but its parts have.
        known = _memory(node)
        leads = any(user in left and user.target is operator.getitem for user in node.users)
        if known in of_inputs:
            # A pass returns a new object, also where the call returns its argument.
            is_argument = any(
                node.meta["example_value"] is source.meta.get("example_value") for source in node.all_input_nodes
            )
            is_seen = seen.count(id(node.meta["example_value"])) > 1
            if leads or (is_argument and is_seen) or not _is_known_view(node):
                left.add(node)
        elif leads or known in shared:
            left.add(node)
    return left


def without_idle_dropouts(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Returns a graph of Dynamo in which dropouts that are off, or drop nothing, are their argument, as in eager mode: the same object.

    AOTAutograd of PyTorch 2.11 takes the result for another tensor, and loses a change in place of it.
    """
    own = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    for node in own.graph.nodes:
        if node.target in _WHOLE_DROPOUTS and isinstance(node.args[0], torch.fx.Node):
            share, trains = (*node.args[1:], *[None] * 2)[:2]
            if node.kwargs.get("p", share) == 0 or node.kwargs.get("training", trains) is False:
                node.replace_all_uses_with(node.args[0])
                own.graph.erase_node(node)
    own.recompile()
    return own


def _is_known_view(node: torch.fx.Node) -> bool:
    """Returns whether the author knows that a node is a view. An item of several results is what the call that gives them is."""
    source = node.args[0]
    is_item = node.target is operator.getitem and isinstance(source, torch.fx.Node) and _memory(source) is None
    return _name(source if is_item else node) in _VIEWS


def _copies_nothing(node: torch.fx.Node) -> bool:
    """Returns whether a call only returns its argument, or views of it."""
    if node.op not in ("call_method", "call_function") or not node.args or writes(node) or node.kwargs.get("inplace"):
        return False
    if _is_view(node) or _name(node) in _DROPOUTS:
        return True
    known = {_memory(source) for source in node.all_input_nodes} - {None}
    value = node.meta.get("example_value")
    parts = value if isinstance(value, (tuple, list)) else [value]
    return bool(known) and all(isinstance(part, torch.Tensor) and memory_of(part) in known for part in parts)


def _memory(node: torch.fx.Node) -> int | None:
    if _name(node) in _DROPOUTS and node.args and isinstance(node.args[0], torch.fx.Node):
        return _memory(node.args[0])
    return memory_of(node.meta.get("example_value"))


def plain_tensor(value: Any) -> Any:
    """Returns the tensor with memory that a tensor within a transform of `torch.func` stands for; any other value as it is."""
    while isinstance(value, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(value):
        value = torch._C._functorch.get_unwrapped(value)
    return value


def memory_of(value: Any) -> int | None:
    """Returns a number that tensors in the same memory have in common; None for a value without memory of its own."""
    # Values within `vmap` have no storage.
    is_dense = isinstance(value, torch.Tensor) and value.layout == torch.strided
    return value.untyped_storage()._cdata if is_dense and torch._C._has_storage(value) else None


def memory_groups(
    graph: torch.fx.Graph, in_place: Collection[torch.fx.Node] = ()
) -> dict[torch.fx.Node, list[torch.fx.Node]]:
    """Returns for each node the nodes that are or may be in the same memory.

    They are judged by the names of the functions that are called, and by the memory that Dynamo noted. `in_place` are further nodes that
    return their first argument.
    """
    groups: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    first: dict[int, torch.fx.Node] = {}
    for node in graph.nodes:
        groups[node] = [node]
        known = _memory(node)
        others = [first.setdefault(known, node)] if known is not None else []
        if _is_view(node) or writes(node) or node in in_place:
            others += node.all_input_nodes[:1]
        for other in others:
            if groups[other] is not groups[node]:
                groups[other] += groups[node]
                groups.update(dict.fromkeys(groups[node], groups[other]))
    return groups


def root_of(node: torch.fx.Node) -> torch.fx.Node:
    """Returns the value that a node is a view of, judged by the names of the functions that are called."""
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


def written_inputs(graph: torch.fx.Graph) -> list[int]:
    """Returns the positions of the inputs that a graph may write to. Dynamo noted the memory of values (`example_value`)."""
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    targets = [target for node in graph.nodes for target in _write_targets(node)]
    memory = {_memory(target) for target in targets}
    # Without the memory of a target, it may be that of any input.
    is_known = None not in memory
    return [place for place, node in enumerate(inputs) if node in targets or not is_known or _memory(node) in memory]


def share_storages(values: Sequence[Any], written: Sequence[int]) -> bool:
    """Returns whether a value at the places `written` has the storage of another value."""
    storages = [memory_of(value) for value in values]
    return any(storages[place] is not None and storages.count(storages[place]) > 1 for place in written)


def splits_written_input(graph: torch.fx.Graph) -> bool:
    """Returns whether a result is one of several views, as of `chunk` or `unbind`, of an input that the graph writes to.

    If it needs a gradient, AOTAutograd returns a copy of such a view. A later change of the view would not reach the input.
    """
    places = [node for node in graph.nodes if node.op == "placeholder"]
    memory = {_memory(places[place]) for place in written_inputs(graph)} - {None}
    waiting = [node for node in graph.output_node().all_input_nodes if _memory(node) in memory]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if (
            node.target is operator.getitem
            and isinstance(node.args[0], torch.fx.Node)
            and _memory(node.args[0]) is None
        ):
            return True
        fresh = {source for source in node.all_input_nodes if _memory(source) in memory} - seen
        seen |= fresh
        waiting += fresh
    return False


def _write_targets(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Returns the arguments that a call may write to."""
    if node.op not in ("call_method", "call_function", "call_module"):
        return []
    if node.op == "call_module" or _is_mutable(node.target):
        return list(node.all_input_nodes)
    found: list[Any] = []
    if _name(node) in ("batch_norm", "instance_norm"):
        # The sixth argument says whether the statistics of the batch are used. Then the call writes to the running statistics.
        uses_batch = node.args[5] if len(node.args) > 5 else node.kwargs.get("training")
        found += [] if uses_batch is False else node.all_input_nodes
    if "out" in node.kwargs:
        found += [node.kwargs["out"]] if isinstance(node.kwargs["out"], torch.fx.Node) else node.kwargs["out"]
    # Functions take the flag `inplace` by name or by place.
    if (
        writes(node)
        or node.kwargs.get("inplace")
        or (node.op == "call_function" and any(value is True for value in node.args))
    ):
        found += node.args[:1]
    return [value for value in found if isinstance(value, torch.fx.Node)]


def _is_mutable(target: Any) -> bool:
    """Returns whether an operator that is registered with PyTorch, also by another library, may write to its arguments."""
    if isinstance(target, torch._ops.OpOverloadPacket):
        return any(_is_mutable(getattr(target, name)) for name in target.overloads())
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.is_mutable
    return isinstance(target, torch._ops.HigherOrderOperator)


def writes(node: torch.fx.Node) -> bool:
    """Returns whether a node writes to one of its arguments, judged by the name of the function that it calls."""
    name = _name(node)
    is_in_place = name.endswith("_") and not name.endswith("__")
    return node.op in ("call_method", "call_function") and (
        is_in_place or name == "setitem" or name in _IN_PLACE or "out" in node.kwargs
    )


def _name(node: torch.fx.Node) -> str:
    return node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))
