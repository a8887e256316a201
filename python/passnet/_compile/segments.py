"""Segments of a graph: the parts for which an author can write one kernel each, from one call of a library to the next.

A call of a library is a matrix product, a convolution or attention: PyTorch has fast kernels for these. The *depth* of a node is the largest
number of such calls on a path to it, itself included. A segment is a connected set of nodes of one depth. It begins with the calls of
libraries whose results it uses, so that an author can also write a product with the operations that follow. No path leaves a segment and
enters it again: it would pass a call of a library, behind which the depth is larger.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from passnet._backend.contents import text_of_graph
from passnet._backend.modes import changes_mode
from passnet._compile.rest import operation_of

# Equal to the limit of `passnet dataset fold`.
MOST_OPERATIONS = 64

_LIBRARY = frozenset(
    [
        *(
            "linear",
            "matmul",
            "__matmul__",
            "__rmatmul__",
            "mm",
            "bmm",
            "mv",
            "dot",
            "addmm",
            "baddbmm",
            "addbmm",
            "addmv",
        ),
        *("einsum", "tensordot", "bilinear", "chain_matmul", "scaled_dot_product_attention"),
        *("multi_head_attention_forward", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
        *("conv_transpose3d", "convolution", "_convolution", "lstm", "gru", "rnn_tanh", "rnn_relu"),
    ]
)


@dataclass
class Segment:
    """A segment of a graph."""

    nodes: list[torch.fx.Node]
    """Calls in the order of the graph."""
    module: torch.fx.GraphModule
    """The segment as a graph of its own. Its placeholders have the names of the values."""
    inputs: list[torch.fx.Node]
    """Values of the whole graph that the segment reads, in the order of the placeholders."""

    @property
    def operations(self) -> list[str]:
        """Returns the last part of the name of each call, e.g. `gelu`."""
        return [last_name(node) for node in self.nodes]

    def text(self) -> str | None:
        """Returns what the segment computes, without names of values; None if it calls code of other libraries."""
        return text_of_graph(self.module)


def last_name(node: torch.fx.Node) -> str:
    """Returns the last part of the name of what a call calls, e.g. `gelu`."""
    return operation_of(node).rsplit(".", 1)[-1]


def is_library(node: torch.fx.Node) -> bool:
    """Returns whether a node is a call of a library."""
    return node.op in ("call_function", "call_method") and last_name(node) in _LIBRARY


def segments_of(graph: torch.fx.Graph) -> list[Segment]:
    """Returns the segments of a graph, in the order of their first calls."""
    depth: dict[torch.fx.Node, int] = {}
    group: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    for node in graph.nodes:
        depth[node] = max((depth[value] for value in node.all_input_nodes), default=0) + is_library(node)
        if node.op not in ("call_function", "call_method") or changes_mode(node):
            continue
        group[node] = [node]
        for value in node.all_input_nodes:
            if value in group and depth[value] == depth[node] and group[value] is not group[node]:
                merged = group[value] + group[node]
                group |= dict.fromkeys(merged, merged)
    order = {node: place for place, node in enumerate(graph.nodes)}
    groups = {id(nodes): sorted(nodes, key=order.__getitem__) for nodes in group.values()}
    pieces = (
        nodes[start : start + MOST_OPERATIONS]
        for nodes in groups.values()
        for start in range(0, len(nodes), MOST_OPERATIONS)
    )
    return [_segment(graph, nodes) for nodes in sorted(pieces, key=lambda nodes: order[nodes[0]])]


def _segment(graph: torch.fx.Graph, nodes: Sequence[torch.fx.Node]) -> Segment:
    inside = set(nodes)
    inputs: dict[torch.fx.Node, None] = {}
    for node in nodes:
        inputs |= dict.fromkeys(value for value in node.all_input_nodes if value not in inside)
    cut = torch.fx.Graph()
    copies: dict[torch.fx.Node, Any] = {value: cut.placeholder(value.name) for value in inputs}
    for node in nodes:
        copies[node] = cut.node_copy(node, copies.__getitem__)
    cut.output(tuple(copies[node] for node in results_of(nodes, inside)))
    return Segment(list(nodes), torch.fx.GraphModule(graph.owning_module or torch.nn.Module(), cut), list(inputs))


def results_of(nodes: Sequence[torch.fx.Node], inside: Collection[torch.fx.Node]) -> list[torch.fx.Node]:
    """Returns the nodes whose values are used outside."""
    return [node for node in nodes if any(user not in inside for user in node.users)]
