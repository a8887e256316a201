"""Proofs that graphs of suites run, and that what they return depends on what they get."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx

from passnet._services import prove, serve

FLOATS = {"name": "x", "shape": [4, 8], "dtype": "float32", "mean": 0.0, "std": 1.0}
LITERALS = {"name": "x", "shape": [3], "dtype": "int64", "data": [2, 0, 5]}


def refusal(monkeypatch: pytest.MonkeyPatch, function: Any, *metas: dict[str, Any]) -> str | None:
    """Returns the reason why the graph of a function is refused; None if it is not."""
    module = torch.fx.symbolic_trace(function)
    monkeypatch.setattr(prove, "to_graph_module", lambda _graph: module)
    (result,) = prove.prove({"graphs": [{"graph": {}, "inputs": list(metas)}], "max_bytes": 1 << 20})["results"]
    return result.get("error")


def changes_its_input(x: torch.Tensor) -> tuple[()]:
    x.mul_(2)
    return ()


def keeps_its_input(x: torch.Tensor) -> tuple[()]:
    x.mul_(1)
    return ()


@pytest.mark.parametrize(
    ("function", "meta"),
    [
        (lambda x: (x.relu(),), FLOATS),
        # Recorded literals are drawn again, so that a function of them is not a constant.
        (lambda x: (x + 1,), LITERALS),
        (changes_its_input, FLOATS),
        # One output that depends on the input is enough.
        (lambda x: (x.exp(), torch.ones(3)), FLOATS),
    ],
)
def test_answers_that_depend_on_inputs_pass(monkeypatch: pytest.MonkeyPatch, function: Any, meta: dict[str, Any]):
    assert refusal(monkeypatch, function, meta) is None


def test_memory_that_runs_out_below_a_limit_is_named(monkeypatch: pytest.MonkeyPatch):
    def grows(x: torch.Tensor) -> tuple[torch.Tensor]:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    module = torch.fx.symbolic_trace(lambda x: (x,))
    monkeypatch.setattr(module, "forward", grows)
    monkeypatch.setattr(prove, "to_graph_module", lambda _graph: module)
    request = {"graphs": [{"graph": {}, "inputs": [FLOATS]}], "max_bytes": 1 << 20}
    assert prove.prove(request)["results"][0]["error"].startswith("RuntimeError")
    monkeypatch.setattr(serve, "_memory_bytes", 3 << 29)
    expected = serve.OVER_MEMORY + "more than 1.5 GiB are needed; raise --memory-gib"
    assert prove.prove(request)["results"] == [{"error": expected}]


@pytest.mark.parametrize(
    ("function", "meta"),
    [
        (lambda x: (torch.zeros_like(x),), FLOATS),
        (lambda x: (x.new_ones(3),), FLOATS),
        (lambda x: (x > 1000,), FLOATS),
        (lambda x: (x * 0,), LITERALS),
        (keeps_its_input, FLOATS),
    ],
)
def test_constant_answers_are_refused(monkeypatch: pytest.MonkeyPatch, function: Any, meta: dict[str, Any]):
    assert "the same for all inputs" in (refusal(monkeypatch, function, meta) or "")
