"""The wire form and back."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
import torch
import torch.fx

from passnet._passes.trace import trace_pattern
from passnet._passes.wire import WireError, from_graph, resolve, target_name, to_graph, to_graph_module


def every_argument(x: torch.Tensor, w: torch.Tensor) -> tuple:
    a = torch.nn.functional.conv2d(x, w, None, (1, 1), padding="same")
    b = a[..., 1:, None, ::2]
    c = b.to(dtype=torch.float64, device=torch.device("cpu"), memory_format=torch.preserve_format)
    d = torch.clamp(c, min=float("-inf"), max=1e300)
    d += torch.full([2], -1.5)
    return d, getattr(x, "shape"), [w, None]  # noqa: B009


def test_every_kind_of_argument_survives():
    wire = from_graph(trace_pattern(every_argument))
    assert from_graph(to_graph(json.loads(json.dumps(wire)))) == wire
    targets = [node["target"] for node in wire["nodes"]]
    assert targets[:3] == ["torch.conv2d", "operator.getitem", "to"]
    assert "operator.iadd" in targets
    assert wire["nodes"][0]["kwargs"] == [["padding", "same"]]
    text = json.dumps(wire)
    assert '{"slice": [null, null, 2]}' in text
    assert '{"float": "-inf"}' in text
    assert '{"attr": "torch.preserve_format"}' in text
    x, w = torch.randn(1, 2, 4, 4), torch.randn(2, 2, 1, 1)
    d, shape, pair = to_graph_module(wire)(x, w)
    torch.testing.assert_close(d, every_argument(x, w)[0])
    assert shape == x.shape
    assert pair == [w, None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "wire version 2"),
        ({"outputs": [{"ref": 9}]}, "reference to value 9"),
        ({"outputs": [{"complex": 1}]}, "unknown kind `complex`"),
        (
            {"nodes": [{"name": "y", "op": "call_function", "target": "torch.no_such", "args": [], "kwargs": []}]},
            "does not",
        ),
        (
            {"nodes": [{"name": "y", "op": "call_module", "target": "torch.relu", "args": [], "kwargs": []}]},
            "unknown op",
        ),
        ({"nodes": [{"name": "y", "op": "call_function", "target": "os.abort", "args": [], "kwargs": []}]}, "does not"),
    ],
)
def test_malformed_wire_is_refused(change: dict, message: str):
    with pytest.raises(WireError, match=message):
        to_graph({"version": 1, "inputs": ["x"], "nodes": [], "outputs": [{"ref": 0}], **change})


def test_what_the_wire_form_cannot_say_is_refused():
    graph = torch.fx.Graph()
    graph.output((graph.call_function(torch.full, ([2], 1 << 70)),))
    with pytest.raises(WireError, match="64 bits"):
        from_graph(graph)
    with pytest.raises(WireError, match="not a function of torch"):
        target_name(json.dumps)


@pytest.mark.parametrize(
    "target",
    [
        "torch._C._nn.scaled_dot_product_attention",
        "torch.functional.split",
        "operator.and_",
        "builtins.getattr",
        "torch.ops.aten._local_scalar_dense",
        "torch.ops.aten.sym_size.int",
        "torch._functorch.predispatch._add_batch_dim",
    ],
)
def test_targets_are_found_again(target: str):
    assert resolve(target_name(resolve(target))) is resolve(target)


def test_public_tasks_round_trip(passbench: Path):
    count = 0
    for model in sorted(passbench.rglob("model.py"))[::10]:
        graph = trace_pattern(runpy.run_path(str(model))["GraphModule"]())
        wire = from_graph(graph)
        assert from_graph(to_graph(wire)) == wire, model
        count += len(wire["nodes"])
    assert count > 100
