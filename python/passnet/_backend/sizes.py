"""Graphs whose sizes change from call to call: one specialisation for each sizes that come again, up to a limit."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.modes import enters_mode
from passnet._summary import summary
from passnet.kernels._errors import is_fatal

# Sizes of one graph that are compiled, as many as kinds of calls of `passnet.compile`.
LIMIT = 8

# Methods of tensors and functions of modules that give numbers without a side effect.
_SIZE_METHODS = frozenset("size stride dim ndimension numel nelement storage_offset element_size item".split())  # noqa: SIM905
_NUMBER_MODULES = frozenset(("_operator", "builtins", "math", "torch.utils._sympy.functions"))

Run = Callable[..., Any]


@dataclass
class SizesReport:
    """The sizes that a graph was called with."""

    compiled: int = 0
    """Number of specialisations."""
    first: int = 0
    """Number of calls of sizes that were not among the last ones, which PyTorch computed."""
    left: int = 0
    """Number of calls of other sizes, beyond the limit, which PyTorch computed."""
    faults: set[str] = field(default_factory=set)
    """Reason why some sizes have no specialisation; PyTorch computes their calls."""


def has_symbols(values: Sequence[Any]) -> bool:
    """Returns whether a graph of Dynamo takes sizes or numbers that change from call to call."""
    return any(not isinstance(value, torch.Tensor) for value in values)


class Sized:
    """A graph with symbolic sizes, as one function for each of the sizes that it is called with repeatedly.

    Sizes are compiled when they come again among the last `LIMIT` ones: those of a cache that grows, or of tokens that an expert is
    given, never do, and compiling each of them takes longer than all calls. `compiled` makes a function of the tensors alone, for a graph in which all sizes are numbers. Beyond the limit, `plain` computes.
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
        self._last: collections.deque[tuple[Any, ...]] = collections.deque(maxlen=LIMIT)
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
        # Numbers become constants of the specialisation, so another value is another one.
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
        # Sizes are compiled the second time they come, because most of them never come again.
        if key not in self._last:
            self._last.append(key)
            self.report.first += 1
            return self.plain
        places = [place for place, value in enumerate(values) if isinstance(value, torch.Tensor)]
        try:
            sized = _with_sizes(self.module, values)
        except Exception as error:
            if is_fatal(error):
                raise
            # Sizes that depend on data, for instance.
            self.report.faults.add(summary(error))
            self._known[key] = self.plain
            return self.plain
        self.report.compiled += 1
        run = self.compiled(sized, [values[place] for place in places])
        self._known[key] = lambda *given: run(*[given[place] for place in places])
        return self._known[key]


def _with_sizes(module: torch.fx.GraphModule, values: Sequence[Any]) -> torch.fx.GraphModule:
    """A copy of a graph with the sizes of these arguments, which takes the tensors alone; the types of its values are noted."""
    if enters_mode(module.graph):
        # An exception below would leave the mode entered.
        raise ValueError("the graph changes a mode of PyTorch, such as autocast or `vmap`")
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
        if type(value) in (bool, int, float) and _is_of_sizes(node):
            # A value that is computed from sizes is a constant, too.
            node.replace_all_uses_with(value)
            graph.erase_node(node)
    sized.recompile()
    return sized


def _is_of_sizes(node: torch.fx.Node) -> bool:
    """Returns whether a call computes a number from sizes and numbers, and does nothing else. Calls that enter `vmap` return numbers too."""
    if node.op == "call_method":
        return node.target in _SIZE_METHODS
    if node.op != "call_function":
        return False
    module = getattr(node.target, "__module__", None) or ""
    return module in _NUMBER_MODULES or str(getattr(node.target, "__name__", "")).startswith("sym_")


def _is_number(node: torch.fx.Node) -> bool:
    """Returns whether a graph uses only the number of an argument."""
    return bool(node.users) and all(user.op == "call_method" and user.target == "item" for user in node.users)
