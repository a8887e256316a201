"""Calls of a dataset in the form in which patterns are compared with them."""

from __future__ import annotations

import json

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
