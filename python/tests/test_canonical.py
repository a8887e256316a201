"""Calls of a dataset in the form in which patterns are compared with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx

import authored
from passnet._passes.canonical import CanonicalGraph, canonical_calls
from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import rewrite
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


PLACES = {
    "in order": (lambda x: x.transpose(0, 1), [0, 1]),
    "separate sizes": (lambda x: x.view(2, -1), [0, 1]),
    "a list": (lambda x: x.sum((0, 1)), [0, 1]),
    "slices": (lambda x: x[1:3, :2], [0, 1, 2]),
    "keywords in another order": (lambda x: torch.clamp(x, max=2, min=1), [1, 0]),
    "a default between": (lambda x: torch.nn.functional.leaky_relu(x, negative_slope=0.5), [0]),
    "one number for a list": (lambda x: x.sum(1), [None]),
    "the overload of a tensor": (lambda x: x.max(1), [None]),
    "no part of the form": (lambda x: torch.nn.functional.softmax(x, 1, _stacklevel=3), [0, None]),
    "no number": (lambda x: x.relu(), []),
}


@pytest.mark.parametrize("name", PLACES)
def test_numbers_have_places_where_parameters_can_stand_for_them(name: str) -> None:
    call, expected = PLACES[name]
    (places,) = canonical_calls(trace_pattern(call))["places"]
    assert places == expected


def halves(x: torch.Tensor) -> tuple:
    a, b = x.chunk(2, -1)
    first = torch.sigmoid(a) * b
    c, d = torch.inverse(first).chunk(2, dim=-1)
    return first, torch.sigmoid(c) * d


def sums(x: torch.Tensor) -> tuple:
    first = (x.sum(1) * 2.0).relu()
    return first, (torch.inverse(first).sum(0) * 2.0).relu()


def extremes(x: torch.Tensor) -> tuple:
    first = (x.amax(1) * 2.0).relu()
    return first, (torch.inverse(first).amax(0) * 2.0).relu()


def changed_before_a_view(x: torch.Tensor) -> tuple:
    """The matcher takes `rms_norm` for a view of `x`, of which another view stands before the quotient."""
    norm = torch.rms_norm(x, (8,), None, 1e-5)
    norm.mul_(0.5)
    row = x[None]
    return norm, x / (row.abs() + 1.0), row


@pytest.mark.parametrize(
    ("function", "shape"), [(halves, (4, 8)), (sums, (4, 4, 4)), (extremes, (4, 4, 4)), (changed_before_a_view, (4, 8))]
)
def test_passes_of_the_author_match_as_it_expects(
    function: Callable[..., tuple], shape: tuple[int, ...], tmp_path: Path
) -> None:
    """The author and the matcher compare calls in the same form."""
    torch.manual_seed(0)
    given = torch.rand(shape)
    texts = authored.texts(function, (given,), "cpu")
    for number, text in enumerate(texts):
        (tmp_path / f"fuse_{number}.py").write_text(text)
    order = [f"fuse_{number}" for number in range(len(texts))]
    (tmp_path / "sorted_output_pass_rule_names.json").write_text(json.dumps(order))
    rewritten = rewrite(torch.fx.symbolic_trace(function), PassDirectory.load(tmp_path).passes)
    assert texts and all(report.matches for report in rewritten.passes)
    for got, expected in zip(rewritten.module(given), function(given), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)
