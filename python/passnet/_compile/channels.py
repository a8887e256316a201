"""Inference freezing: images with their channels innermost, where that is faster. Weights are laid out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.compare import difference
from passnet._compile.capture import Captured

# With fewer convolutions, changing layouts costs more than it saves.
_FEWEST = 3

Faster = Callable[[torch.fx.GraphModule, Sequence[torch.Tensor], torch.fx.GraphModule, Sequence[torch.Tensor]], bool]


def channels_last(captured: Captured, example: Sequence[torch.Tensor], faster: Faster) -> str:
    """Lets the captured graph compute with channels innermost if `faster(its own, example, new, example)`; says what was done.

    The weights of convolutions are copies then, until they are captured again. Results keep the strides that they had.
    """
    if captured.mutated:
        return "the layout of images is kept: the graph writes to an argument or a buffer"
    convolutions = [node for node in captured.module.graph.nodes if node.target is torch.conv2d]
    if len(convolutions) < _FEWEST:
        return "the layout of images is kept: there are too few convolutions"
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(captured.module.graph, {}))
    places = [node for node in graph.nodes if node.op == "placeholder"]
    count = len(captured.used)
    state = [
        value.detach().contiguous(memory_format=torch.channels_last) if _is_weight(node, value) else value
        for node, value in zip(places[count:], captured.state, strict=True)
    ]
    for node, value in zip(places[:count], example, strict=False):
        if _is_image(value):
            _relay(graph, node, places[-1], torch.channels_last)
    module = torch.fx.GraphModule(captured.module, graph)
    values = [*example[:count], *state]
    expected = captured.module.forward(*example)
    try:
        _keep_strides(module, values, expected)
        found = _retype(module, values)
    except (RuntimeError, ValueError) as error:
        return f"the layout of images is kept: {str(error).splitlines()[0]}"
    if reason := difference(tuple(found), tuple(expected), ()):
        return f"the layout of images is kept: the result would be another: {reason}"
    if not faster(captured.module, example, module, values):
        return "the layout of images is kept: it is the faster one"
    captured.module, captured.state = module, state
    return "images have their channels innermost"


def _is_image(value: torch.Tensor) -> bool:
    return value.dim() == 4 and value.dtype.is_floating_point


def _is_weight(node: torch.fx.Node, value: torch.Tensor) -> bool:
    users = list(node.users)
    return _is_image(value) and all(user.target is torch.conv2d and user.args[1] is node for user in users)


def _relay(
    graph: torch.fx.Graph, node: torch.fx.Node, after: torch.fx.Node, memory_format: torch.memory_format
) -> None:
    """Lets the users of a value take it in another layout."""
    with graph.inserting_after(after):
        moved = graph.call_method("contiguous", (node,), {"memory_format": memory_format})
    node.replace_all_uses_with(moved, delete_user_cb=lambda user: user is not moved)


def _keep_strides(module: torch.fx.GraphModule, values: Sequence[Any], expected: Sequence[Any]) -> None:
    """Gives the results the strides that they had. Raises `ValueError` where those are not plain."""
    graph = module.graph
    output = graph.output_node()
    results = list(output.args[0])
    for place, (theirs, ours) in enumerate(zip(expected, module.forward(*values), strict=True)):
        if not isinstance(theirs, torch.Tensor) or theirs.stride() == ours.stride():
            continue
        if not theirs.is_contiguous():
            raise ValueError("a result has strides of its own")
        with graph.inserting_before(output):
            results[place] = graph.call_method("contiguous", (results[place],))
    output.args = (tuple(results),)
    module.recompile()


def _retype(module: torch.fx.GraphModule, values: Sequence[torch.Tensor]) -> Any:
    """Runs the graph, and notes the types of its values for the author."""
    mode = FakeTensorMode()

    def typed(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return mode.from_tensor(value, static_shapes=True)
        return type(value)(typed(part) for part in value) if type(value) in (tuple, list) else value

    class Typist(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            if node.op != "output":
                node.meta["example_value"] = typed(result)
            return result

    return Typist(module).run(*values)
