"""Stores images and sequences with their channels innermost (`torch.channels_last`) if that is faster.

On a GPU, cuDNN's kernels for tensor cores need channels innermost. Other layouts are copied before and after each convolution.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.compare import other_sharing
from passnet._backend.contents import text_of_graph
from passnet._backend.kinds import kinds_of
from passnet._backend.regions import difference_of
from passnet._backend.stopwatch import compare_times
from passnet._backend.timings import Timings
from passnet._backend.types import device_of
from passnet._compile.capture import Captured
from passnet._compile.convolutions import Convolution, convolutions_of, innermost, time_layouts

# With fewer convolutions, the change of layouts costs more time than it saves.
_FEWEST = 3

# The time of the convolutions must fall below this share. Other operations may be slower with channels innermost, so a small gain
# in the convolutions is no gain overall.
_GAIN = 0.9

# On a CPU, where whole graphs are timed, times of this share or more may differ by chance.
_CHANCE = 0.97

_KEPT = "the layout of images is kept: "


def channels_last(captured: Captured, example: Sequence[torch.Tensor], timings: Timings, *, frozen: bool) -> str:
    """Changes the captured graph to channels innermost if that is faster. Returns a sentence about what was done.

    With `frozen`, the weights of convolutions become copies in the new layout until the model is captured again. Otherwise each
    call copies the weights. Results keep their strides.
    """
    if captured.mutated:
        return f"{_KEPT}the graph writes to an argument or a buffer"
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(captured.module.graph, {}))
    is_cpu = device_of(example).type == "cpu"
    # On a CPU, oneDNN itself changes the layout of sequences.
    convolutions = [found for found in convolutions_of(graph) if found.dimensions == 2 or not is_cpu]
    if len(convolutions) < _FEWEST:
        return f"{_KEPT}there are too few convolutions"
    count = len(captured.used)
    places = [node for node in graph.nodes if node.op == "placeholder"]
    images = _images(places[:count], example, convolutions)
    once = _laid_out_once(places[count:], convolutions) if frozen else set()
    # The same graph may take its weights as arguments, which are laid out in each call.
    texts = "layout", str(frozen), str(count), text_of_graph(captured.module), kinds_of(example)
    if not is_cpu:
        times = timings.compare(texts, lambda: time_layouts(convolutions, images, once, graphed=timings.graphed))
        if times.fused_ns > _GAIN * times.eager_ns:
            return f"{_KEPT}convolutions are not faster with their channels innermost"
    state = _relay(captured, graph, convolutions, images, once)
    module = torch.fx.GraphModule(captured.module, graph)
    values = [*example[:count], *state]
    try:
        _keep_strides(module, values, captured.module.forward(*example), example)
        _note_types(module, values)
        reason = difference_of(lambda *given: module.forward(*given[:count], *state), captured.module.forward, example)
    except (RuntimeError, ValueError) as error:
        return f"{_KEPT}{str(error).splitlines()[0]}"
    if reason:
        return f"{_KEPT}the result would be another: {reason}"
    if is_cpu and not _is_faster(module, values, captured.module, example, timings, texts):
        return f"{_KEPT}it is the faster one"
    captured.frozen += [old for old, new in zip(captured.state, state, strict=True) if old is not new]
    captured.module, captured.state = module, state
    return "images have their channels innermost"


def _images(
    inputs: Sequence[torch.fx.Node], example: Sequence[torch.Tensor], convolutions: Sequence[Convolution]
) -> list[torch.fx.Node]:
    """Returns the inputs that are images. Weights may be arguments too: those are laid out where a convolution takes them."""
    return [
        node
        for node, value in zip(inputs, example, strict=False)
        if value.dim() == 4 and value.dtype.is_floating_point and not _is_only_weight(node, convolutions)
    ]


def _laid_out_once(state: Sequence[torch.fx.Node], convolutions: Sequence[Convolution]) -> set[torch.fx.Node]:
    """Returns the frozen weights that become copies in the new layout: those that only convolutions in this layout take."""
    weights = {convolution.given["weight"] for convolution in convolutions if not convolution.keeps_layout}
    return {node for node in state if node in weights and _is_only_weight(node, convolutions)}


def _is_only_weight(node: torch.fx.Node, convolutions: Sequence[Convolution]) -> bool:
    """Returns whether convolutions take a value as their weight, and nothing else takes it."""
    weights = {found.node: found.given for found in convolutions}
    return bool(node.users) and all(
        user in weights and weights[user]["weight"] is node and weights[user]["input"] is not node
        for user in node.users
    )


def _is_faster(
    module: torch.fx.GraphModule,
    values: Sequence[Any],
    captured: torch.fx.GraphModule,
    example: Sequence[Any],
    timings: Timings,
    texts: Sequence[str | None],
) -> bool:
    sides = (lambda: captured(*example)), (lambda: module(*values))
    times = timings.compare(texts, lambda: compare_times(*sides, device_of(example)))
    return times.fused_ns < _CHANCE * times.eager_ns


def _relay(
    captured: Captured,
    graph: torch.fx.Graph,
    convolutions: Sequence[Convolution],
    images: Sequence[torch.fx.Node],
    once: Collection[torch.fx.Node],
) -> list[torch.Tensor]:
    """Adds the change of layout of images and weights to the graph. Returns the state; the weights `once` in it have the new layout."""
    places = [node for node in graph.nodes if node.op == "placeholder"]
    state = dict(zip(places[len(captured.used) :], captured.state, strict=True))
    for node in images:
        with graph.inserting_after(places[-1]):
            moved = _innermost(graph, node)
        node.replace_all_uses_with(moved, delete_user_cb=lambda user, moved=moved: user is not moved)
    for node in once:
        state[node] = innermost(state[node].detach())
    for convolution in convolutions:
        node, given = convolution.node, convolution.given
        with graph.inserting_before(node):
            source, weight = given["input"], given["weight"]
            if convolution.keeps_layout:
                _compute_as_captured(graph, convolution)
                continue
            if weight not in once:
                weight = _innermost(graph, weight, sequences=convolution.dimensions == 1)
            if convolution.dimensions == 1:
                source = _innermost(graph, source, sequences=True)
            found = graph.call_function(torch.conv2d, convolution.on_images(source, weight, given["bias"]))
            if convolution.dimensions == 1:
                found = graph.call_method("squeeze", (found, 2))
        node.replace_all_uses_with(found)
        graph.erase_node(node)
    _reshape_views(graph)
    return list(state.values())


def _compute_as_captured(graph: torch.fx.Graph, convolution: Convolution) -> None:
    """Copies the images into the captured layout before a convolution, and the result back. The author's kernels need no copies."""
    node, source = convolution.node, convolution.given["input"]
    node.replace_input_with(source, graph.call_method("contiguous", (source,)))
    with graph.inserting_after(node):
        moved = _innermost(graph, node)
    node.replace_all_uses_with(moved, delete_user_cb=lambda user: user is not moved)


def _innermost(graph: torch.fx.Graph, node: torch.fx.Node, *, sequences: bool = False) -> torch.fx.Node:
    """Adds a call of `innermost` to a graph."""
    if sequences:
        node = graph.call_method("unsqueeze", (node, 2))
    return graph.call_method("contiguous", (node,), {"memory_format": torch.channels_last})


def _reshape_views(graph: torch.fx.Graph) -> None:
    """Replaces views by reshapes, which copy if the new layout does not allow a view."""
    for node in graph.nodes:
        if node.op == "call_method" and node.target == "view" and not isinstance(node.args[1], torch.dtype):
            node.target = "reshape"


def _keep_strides(
    module: torch.fx.GraphModule, values: Sequence[Any], expected: Sequence[Any], example: Sequence[Any]
) -> None:
    """Restores the strides of the results. `expected` are the results of the captured graph for its arguments `example`.

    Raises `ValueError` if a result with changed strides was not contiguous before, or if it was in the memory of an argument.
    """
    graph = module.graph
    output = graph.output_node()
    results = list(output.args[0])
    for place, (theirs, ours) in enumerate(zip(expected, module.forward(*values), strict=True)):
        if not isinstance(theirs, torch.Tensor) or theirs.stride() == ours.stride():
            continue
        if not theirs.is_contiguous():
            raise ValueError("a result of the model is not contiguous")
        with graph.inserting_before(output):
            results[place] = graph.call_method("contiguous", (results[place],))
    output.args = (tuple(results),)
    module.recompile()
    if other_sharing([*values, *module.forward(*values)], [*example, *expected]):
        raise ValueError("a result of the model shares memory with an argument")


def _note_types(module: torch.fx.GraphModule, values: Sequence[torch.Tensor]) -> None:
    """Runs the graph and notes the types of its values for the author."""
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

    Typist(module).run(*values)
