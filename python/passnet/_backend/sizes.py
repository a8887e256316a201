"""Graphs whose sizes change from call to call: one specialisation for each sizes that come, up to a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

# Sizes of one graph that are compiled, as many as kinds of calls of `passnet.compile`.
LIMIT = 8

Run = Callable[..., Any]


@dataclass
class SizesReport:
    """The sizes that a graph was called with."""

    compiled: int = 0
    """Number of specialisations."""
    left: int = 0
    """Number of calls of other sizes, beyond the limit, which PyTorch computed."""


def has_symbols(values: Sequence[Any]) -> bool:
    """Whether a graph of Dynamo takes sizes or numbers that change from call to call."""
    return any(not isinstance(value, torch.Tensor) for value in values)


class Sized:
    """A graph with symbolic sizes, as one function for each of the sizes that it is called with.

    `compiled` makes a function of the tensors alone, for a graph in which all sizes are numbers. Beyond the limit, `plain` computes.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        compiled: Callable[[torch.fx.GraphModule, Sequence[Any]], Run],
        plain: Run,
        report: SizesReport,
    ) -> None:
        self.module = module
        self.compiled = compiled
        self.plain = plain
        self.report = report
        self._known: dict[tuple[Any, ...], Run] = {}
        self._lock = threading.Lock()
        self._numbers = [
            place
            for place, node in enumerate(node for node in module.graph.nodes if node.op == "placeholder")
            if _is_number(node)
        ]

    def __call__(self, *values: Any) -> Any:
        key = tuple(
            (value.shape, value.stride()) if isinstance(value, torch.Tensor) else (type(value), value)
            for value in values
        )
        key += tuple(values[place].item() for place in self._numbers)
        run = self._known.get(key)
        if run is None:
            with self._lock:
                run = self._known.get(key) or self._new(key, values)
        return run(*values)

    def _new(self, key: tuple[Any, ...], values: Sequence[Any]) -> Run:
        if len(self._known) >= LIMIT:
            self.report.left += 1
            return self.plain
        self.report.compiled += 1
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        run = self.compiled(_with_sizes(self.module, values), tensors)
        places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
        self._known[key] = lambda *given: run(*[given[place] for place in places])
        return self._known[key]


def _with_sizes(module: torch.fx.GraphModule, values: Sequence[Any]) -> torch.fx.GraphModule:
    """A copy of a graph with the sizes of these arguments, which takes the tensors alone; the types of its values are noted."""
    known: dict[torch.fx.Node, Any] = {}
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, value in zip(places, values, strict=True):
        if not isinstance(value, torch.Tensor):
            known[node] = value
        elif _is_number(node):
            # Dynamo gives numbers that change, such as `eps`, as tensors; here they are constants.
            known.update((user, value.item()) for user in node.users)
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, known))
    sized = torch.fx.GraphModule(module, graph)
    mode = FakeTensorMode()
    given = [mode.from_tensor(value, static_shapes=True) for value in values if isinstance(value, torch.Tensor)]

    class Typist(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            if node.op != "output":
                node.meta["example_value"] = result
            return result

    with mode, torch.no_grad():
        Typist(sized).run(*given)
    for node in list(graph.nodes):
        value = node.meta.get("example_value")
        if node.op.startswith("call_") and type(value) in (bool, int, float):
            # What is computed from sizes is a constant too.
            node.replace_all_uses_with(value)
            graph.erase_node(node)
    sized.recompile()
    return sized


def _is_number(node: torch.fx.Node) -> bool:
    """Whether all that a graph takes of an argument is its number."""
    return bool(node.users) and all(user.op == "call_method" and user.target == "item" for user in node.users)
