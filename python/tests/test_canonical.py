"""Calls of a dataset in the form in which patterns are compared with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from passnet._passes.canonical import CanonicalGraph
from passnet._passes.trace import trace_pattern
from passnet._passes.wire import from_graph
from passnet._services.canonical import canonical


def calls(x: torch.Tensor, y: torch.Tensor) -> tuple:
    return torch.nn.functional.relu(x), x.view(2, -1), torch.add(x, y), x[[0, 1]]


def test_the_form_is_that_of_a_pattern() -> None:
    graph = trace_pattern(calls)
    expected = json.loads(CanonicalGraph(graph).text)
    wire = from_graph(graph)
    form = canonical(wire)
    assert form["nodes"] == expected["nodes"]
    assert dict(form["nodes"][0]["kwargs"])["inplace"] is False


def test_a_call_that_torch_does_not_have_stays_as_it_is() -> None:
    wire = from_graph(trace_pattern(calls))
    unknown = {
        "name": "odd",
        "op": "call_function",
        "target": "torch.no_such_function",
        "args": [{"ref": 0}],
        "kwargs": [],
    }
    form = canonical({**wire, "nodes": [unknown, *wire["nodes"]], "outputs": []})
    assert form["nodes"][0] == unknown
    assert form["nodes"][1]["name"] == wire["nodes"][0]["name"]


OPERANDS = {
    "einsum": lambda a, b: torch.functional.einsum("i,j->ij", (a, b)),
    "einsum, one by one": lambda a, b: torch.einsum("i,j->ij", a, b),
    "einsum of one tensor": lambda a, b: torch.einsum("i->i", a) + b,
    "einsum, sublists": lambda a, b: torch.einsum(a, [0], b, [1], [0, 1]),
    "meshgrid": lambda a, b: torch.meshgrid([a, b], indexing="ij")[0],
    "meshgrid, one by one": lambda a, b: torch.functional.meshgrid(a, b)[1],
    "atleast_2d": lambda a, b: torch.atleast_2d([a, b])[1],
    "atleast_2d, one by one": lambda a, b: torch.atleast_2d(a, b)[0],
    "atleast_2d of one tensor": lambda a, b: torch.atleast_2d(a) + b,
}


@pytest.mark.parametrize("name", OPERANDS)
def test_a_pattern_has_the_form_of_the_graph_of_the_same_code(name: str) -> None:
    """Dynamo keeps a list of operands, and a traced pattern may not."""
    graphs = []

    def backend(module: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
        graphs.append(module.graph)
        return module

    torch._dynamo.reset()
    torch.compile(OPERANDS[name], backend=backend)(torch.ones(2), torch.ones(2))
    found, expected = (
        json.loads(CanonicalGraph(graph).text)["nodes"] for graph in (trace_pattern(OPERANDS[name]), graphs[0])
    )
    expected = [{**node, "name": ours["name"]} for node, ours in zip(expected, found, strict=False)]
    # Dynamo writes out each result of a function with several.
    assert [node for node in expected if node in found] == found
