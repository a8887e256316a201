"""Splits calls of libraries on a GPU into several operations. Fused kernels then compute all of them except matrix products.

- **Biases.** cuBLAS has few kernels for matrix products in `float32` that also add a bias. Kernels that only multiply are up to
  twice as fast on the same sizes. cuDNN adds no bias: PyTorch launches another kernel for the bias.
- **Attention.** If PyTorch has no fused kernel for a call of attention, it launches about ten kernels: scales, products, a softmax
  with a check for rows that are masked completely.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from passnet._backend.regions import Judge
from passnet._backend.timings import Timings
from passnet._backend.types import typed_pattern
from passnet._compile.layers import CONVOLUTIONS, LINEAR
from passnet._passes.load import Pass

_ATTENTION = torch.nn.functional.scaled_dot_product_attention
# With 16-bit types, the product would be rounded before the addition, so the result would be rounded twice.
_TYPES_OF_PRODUCTS = frozenset([torch.float32, torch.float64])
_DEVICE = "cuda"


def decompose(module: torch.fx.GraphModule, example: Sequence[torch.Tensor], timings: Timings) -> int:
    """Decomposes calls whose parts give PyTorch's results and are not slower, as measured on these arguments.

    Returns the number of decomposed calls. Changes the graph, and writes to the arguments that the graph writes to.
    """
    rules = {node: rule for node in module.graph.nodes if (rule := _rule_of(node)) is not None}
    if not rules:
        return 0
    judge = _Judge(module, rules, timings)
    judge.run(*example)
    for node, (parts, places) in judge.parts.items():
        parameters = (part for part in parts.nodes if part.op == "placeholder")
        # The arguments are read here, because an argument may be a call that an earlier iteration replaced.
        bound: dict[torch.fx.Node, Any] = dict(zip(parameters, (node.args[place] for place in places), strict=True))
        with module.graph.inserting_before(node):
            node.replace_all_uses_with(module.graph.graph_copy(parts, bound))
        module.graph.erase_node(node)
    module.recompile()
    return len(judge.parts)


@dataclass(frozen=True)
class _Rule:
    """A call of a library and its parts, as graphs with one parameter for each argument."""

    judged: Pass
    """A pass that replaces the call by a function that computes its parts."""
    parts: torch.fx.Graph


class _Judge(Judge):
    """Runs a graph, and keeps the parts of the calls whose parts are kept, with the types of their values."""

    def __init__(self, module: torch.fx.GraphModule, rules: dict[torch.fx.Node, _Rule], timings: Timings) -> None:
        super().__init__(module, (), graphed=timings.graphed, timings=timings)
        self.sites = {node: rule.judged for node, rule in rules.items()}
        self.rules = rules
        self.parts: dict[torch.fx.Node, tuple[torch.fx.Graph, list[int]]] = {}
        """The parts of a call as a graph, and the positions of its arguments that are tensors."""

    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        if node in self.sites and self.regions[node].kept:
            values, _ = self.fetch_args_kwargs_from_env(node)
            # The types of the new values are noted for the author, as Dynamo would have noted them.
            parts = typed_pattern(self.rules[node].parts, values)
            places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
            self.parts[node] = parts, places
        return result


def _rule_of(node: torch.fx.Node) -> _Rule | None:
    """Returns the rule for a call on a GPU that can be decomposed; None for any other node."""
    value = node.meta.get("example_value")
    if node.op != "call_function" or not isinstance(value, torch.Tensor) or value.device.type != _DEVICE:
        return None
    if node.target is _ATTENTION:
        if not _is_plain_attention(node):
            return None
        scale = node.kwargs.get("scale") or 1 / math.sqrt(node.args[0].meta["example_value"].shape[-1])
        return _rule(_ATTENTION, 3, tuple(sorted(node.kwargs.items())), (value.dtype, scale))
    if node.kwargs or len(node.args) < 3 or not _has_bias(node, value):
        return None
    return _rule(node.target, len(node.args))


def _has_bias(node: torch.fx.Node, value: torch.Tensor) -> bool:
    is_sum = node.target is torch.addmm
    bias = node.args[0 if is_sum else 2]
    known = bias.meta.get("example_value") if isinstance(bias, torch.fx.Node) else None
    if not isinstance(known, torch.Tensor) or known.dim() != 1 or known.dtype != value.dtype:
        return False
    if node.target in CONVOLUTIONS:
        # In an image without a batch dimension, the channels come first.
        return value.dim() == 2 + CONVOLUTIONS[node.target]
    return ((is_sum and len(node.args) == 3) or node.target in LINEAR) and value.dtype in _TYPES_OF_PRODUCTS


def _is_plain_attention(node: torch.fx.Node) -> bool:
    given = dict(node.kwargs)
    scale = given.pop("scale", None)
    query = node.args[0].meta.get("example_value") if isinstance(node.args[0], torch.fx.Node) else None
    return (
        len(node.args) == 3
        and isinstance(query, torch.Tensor)
        and query.dtype != torch.float64
        and given.pop("dropout_p", 0.0) == 0.0
        and given.pop("attn_mask", None) is None
        and not any(given.values())
        and (scale is None or (isinstance(scale, float) and scale > 0.0))
    )


@functools.cache
def _rule(
    target: Callable[..., Any],
    count: int,
    named: tuple[tuple[str, Any], ...] = (),
    attention: tuple[torch.dtype, float] | None = None,
) -> _Rule:
    """Returns the rule for a function with this number of arguments and these keywords. Attention also has a dtype and a scale."""
    names = tuple(f"in{number}" for number in range(count))
    pattern, parts = torch.fx.Graph(), torch.fx.Graph()
    pattern.output(pattern.call_function(target, tuple(pattern.placeholder(name) for name in names), dict(named)))
    tracer = torch.fx.proxy.GraphAppendingTracer(parts)
    args = [torch.fx.Proxy(parts.placeholder(name), tracer) for name in names]
    result = _attention(args, *attention) if attention is not None else _with_bias(target, args)
    parts.output(result.node)
    run = torch.fx.GraphModule({}, parts).forward
    return _Rule(Pass("parts", pattern, names, lambda *values: values, run, (), False), parts)


def _with_bias(target: Callable[..., Any], args: Sequence[torch.fx.Proxy]) -> Any:
    """Adds a product or convolution without bias, and the addition of the bias, to the graph of the arguments."""
    if target is torch.addmm:
        bias, left, right = args
        return torch.mm(left, right) + bias
    if target in LINEAR:
        return target(*args[:2]) + args[2]
    return target(*args[:2], None, *args[3:]) + args[2].view(-1, *[1] * CONVOLUTIONS[target])


def _attention(args: Sequence[torch.fx.Proxy], dtype: torch.dtype, scale: float) -> Any:
    """Adds attention to the graph of its arguments, in `float32` as in PyTorch's implementation without a fused kernel. Rows whose
    scores are all -inf give 0.
    """
    query, key, value = args if dtype == torch.float32 else [argument.float() for argument in args]
    root = math.sqrt(scale)
    scores = torch.matmul(query * root, key.transpose(-2, -1) * root)
    is_masked = (scores == -math.inf).all(-1, keepdim=True)
    result = torch.matmul(torch.where(is_masked, 0.0, torch.softmax(scores, -1)), value)
    return result if dtype == torch.float32 else result.to(dtype)
