"""Freezing for inference: folds batch norm into the weights of the convolution or linear layer before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

from passnet._backend.compare import difference
from passnet._backend.regions import fork_random
from passnet._compile.capture import Captured
from passnet._compile.layers import CONVOLUTIONS, LINEAR

_NAMES = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")


def freeze(captured: Captured, example: Sequence[torch.Tensor]) -> str:
    """Folds batch norm into weights, in the captured graph itself. Returns a sentence about what was done.

    The folded weights replace the original weights in the state. If the results of the new graph differ from those of PyTorch,
    nothing is changed.
    """
    if captured.mutated:
        return "nothing is folded: the graph writes to an argument or a buffer"
    if any(tensor.device.type != "cpu" for tensor in example):
        return "nothing is folded: on this device, a bias costs as much as the batch norm in a fused kernel"
    module = captured.module
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    places = [node for node in graph.nodes if node.op == "placeholder"]
    count = len(captured.used)
    values = dict(zip(places[count:], captured.state, strict=True))
    folds = [fold for node in list(graph.nodes) if (fold := _fold(node, values)) is not None]
    if not folds:
        return "there is no batch norm to fold"
    for fold in folds:
        fold.apply(graph, values)
    for node in [node for node in values if not node.users]:
        graph.erase_node(node)
        del values[node]
    state = [values[node] for node in graph.nodes if node in values]
    frozen = torch.fx.GraphModule(module, graph)
    # Both draw the same random numbers, and later calls draw those that they draw without this comparison.
    with fork_random(example):
        expected = module.forward(*example)
    with fork_random(example):
        found = frozen.forward(*example[:count], *state)
    if reason := difference(found, expected, ()):
        return f"nothing is folded: the result would be another: {reason}"
    captured.module, captured.state = frozen, state
    captured.frozen += [tensor for fold in folds for tensor in fold.sources]
    return f"{len(folds)} batch norms are folded into weights"


def call_counters(model: Any, frozen: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the buffers in which batch norms count the calls that change these tensors, their statistics.

    PyTorch does not count such a change as a write to the statistics.
    """
    if not frozen or not isinstance(model, torch.nn.Module):
        return []
    known = set(map(id, frozen))
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
    counters = [norm.num_batches_tracked for norm in norms if id(norm.running_mean) in known]
    return [counter for counter in counters if counter is not None]


@dataclass
class _Fold:
    """A batch norm, and the layer before it."""

    norm: torch.fx.Node
    layer: torch.fx.Node
    weight: torch.Tensor
    bias: torch.Tensor
    sources: list[torch.Tensor]
    """The tensors that the new weight and bias were computed from."""

    def apply(self, graph: torch.fx.Graph, values: dict[torch.fx.Node, torch.Tensor]) -> None:
        """Gives the layer new weights, as new state at the end of the placeholders."""
        last = [node for node in graph.nodes if node.op == "placeholder"][-1]
        with graph.inserting_after(last):
            weight = graph.placeholder(f"{self.layer.name}_folded_weight")
        with graph.inserting_after(weight):
            bias = graph.placeholder(f"{self.layer.name}_folded_bias")
        for node, value in ((weight, self.weight), (bias, self.bias)):
            values[node] = value
            # Noted for the author, as Dynamo would have noted it.
            node.meta["example_value"] = value
        arguments = _arguments(self.layer, ("input", "weight", "bias"))
        rest = self.layer.args[3:]
        named = {key: value for key, value in self.layer.kwargs.items() if key not in ("input", "weight", "bias")}
        self.layer.args, self.layer.kwargs = (arguments["input"], weight, bias, *rest), named
        self.norm.replace_all_uses_with(self.layer)
        graph.erase_node(self.norm)


def _arguments(node: torch.fx.Node, names: Sequence[str]) -> dict[str, Any]:
    return {**dict.fromkeys(names), **dict(zip(names, node.args, strict=False)), **node.kwargs}


def _fold(norm: torch.fx.Node, values: dict[torch.fx.Node, torch.Tensor]) -> _Fold | None:
    """Returns the fold of a batch norm; None if the node is no batch norm, or if the layer before it does not allow a fold."""
    if norm.op != "call_function" or norm.target is not torch.nn.functional.batch_norm:
        return None
    given = _arguments(norm, _NAMES)
    layer = given["input"]
    if given["training"] or not isinstance(layer, torch.fx.Node) or layer.op != "call_function":
        return None
    eps = 1e-5 if given["eps"] is None else given["eps"]
    is_linear = layer.target in LINEAR
    if not (is_linear or layer.target in CONVOLUTIONS) or len(layer.users) != 1 or not isinstance(eps, float):
        return None
    weights = _arguments(layer, ("input", "weight", "bias"))
    nodes = [weights["weight"], weights["bias"], *(given[name] for name in ("running_mean", "running_var"))]
    nodes += [given["weight"], given["bias"]]
    tensors = [None if node is None else values.get(node) for node in nodes]
    missing = [node is not None and tensor is None for node, tensor in zip(nodes, tensors, strict=True)]
    if any(missing) or tensors[0] is None or tensors[2] is None or tensors[3] is None:
        return None
    if is_linear and norm.meta["example_value"].dim() != 2:
        return None
    fuse = fuse_linear_bn_weights if is_linear else fuse_conv_bn_weights
    mean = tensors[2]
    scale, shift = (
        value if value is not None else torch.full_like(mean, default)
        for value, default in zip(tensors[4:], (1.0, 0.0), strict=True)
    )
    with torch.no_grad():
        weight, bias = fuse(tensors[0], tensors[1], mean, tensors[3], eps, scale, shift)
        sources = [tensor for tensor in tensors if tensor is not None]
        return _Fold(norm, layer, weight.detach(), bias.detach(), sources)
