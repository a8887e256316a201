"""Graphs whose sizes change from call to call. Each set of sizes that repeats gets a specialisation, up to a limit."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._backend.modes import enters_mode
from passnet._backend.process_lock import compiling
from passnet._backend.saved_tensors import has_hooks
from passnet._summary import summary
from passnet.kernels._errors import is_fatal

# Largest number of specialisations of one graph, equal to the limit of kinds of calls of `passnet.compile`.
LIMIT = 8

# Methods of tensors, and modules of functions, that return numbers without a side effect.
_SIZE_METHODS = frozenset("size stride dim ndimension numel nelement storage_offset element_size item".split())  # noqa: SIM905
_NUMBER_MODULES = frozenset(("_operator", "builtins", "math", "torch.utils._sympy.functions"))

Run = Callable[..., Any]


@dataclass
class SizesReport:
    """Counts of the sizes that a graph was called with."""

    compiled: int = 0
    """Number of specialisations."""
    first: int = 0
    """Number of calls with sizes that were not among the last `LIMIT` sizes. PyTorch computed these calls."""
    left: int = 0
    """Number of calls with further sizes after the limit was reached. PyTorch computed these calls."""
    faults: set[str] = field(default_factory=set)
    """Reasons why some sizes have no specialisation. PyTorch computes calls with these sizes."""


def has_symbols(values: Sequence[Any]) -> bool:
    """Returns whether these inputs of a graph of Dynamo include sizes or numbers, which change from call to call."""
    return any(not isinstance(value, torch.Tensor) for value in values)


class Sized:
    """A graph with symbolic sizes, with one compiled function for each set of sizes that repeats.

    Sizes are compiled when they repeat within the last `LIMIT` sizes. Sizes of a growing cache, or of the tokens routed to an
    expert, rarely repeat, and compiling each of them would take longer than all calls. `compiled` compiles a graph in which all
    sizes are numbers to a function of its tensors. After the limit is reached, `plain` computes calls with further sizes.
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
        self._numbers = [
            place
            for place, node in enumerate(node for node in module.graph.nodes if node.op == "placeholder")
            if _is_number(node)
        ]

    def __call__(self, *values: Any) -> Any:
        if has_hooks():
            # A checkpoint calls the graph twice with the same sizes. The second call must not be the first compiled one.
            return self.plain(*values)
        key = tuple(
            (value.shape, value.stride()) if isinstance(value, torch.Tensor) else (type(value), value)
            for value in values
        )
        # Numbers become constants of the specialisation, so each value needs another specialisation.
        key += tuple(values[place].item() for place in self._numbers)
        run = self._known.get(key)
        if run is None:
            with compiling:
                run = self._known.get(key) or self._new(key, values)
        return run(*values)

    def _new(self, key: tuple[Any, ...], values: Sequence[Any]) -> Run:
        if len(self._known) >= LIMIT:
            self.report.left += 1
            return self.plain
        # Sizes are compiled when they occur the second time, because most of them occur once.
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
            # The graph cannot be specialised, for example because a size depends on data.
            self.report.faults.add(summary(error))
            self._known[key] = self.plain
            return self.plain
        self.report.compiled += 1
        run = self.compiled(sized, [values[place] for place in places])
        self._known[key] = lambda *given: run(*[given[place] for place in places])
        return self._known[key]


def _with_sizes(module: torch.fx.GraphModule, values: Sequence[Any]) -> torch.fx.GraphModule:
    """Returns a copy of a graph with the sizes of these arguments as constants. It takes only the tensors, and has the types of its values.

    Raises `ValueError` if the graph enters a mode, such as autocast.
    """
    if enters_mode(module.graph):
        # An exception below would leave this process in that mode.
        raise ValueError("the graph changes a mode of PyTorch, such as autocast or `vmap`")
    known: dict[torch.fx.Node, Any] = {}
    places = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, value in zip(places, values, strict=True):
        if not isinstance(value, torch.Tensor):
            known[node] = value
        elif _is_number(node):
            # Dynamo passes numbers that change, such as `eps`, as tensors. They become constants here.
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
            # A value that is computed from sizes is a constant too.
            node.replace_all_uses_with(value)
            graph.erase_node(node)
    sized.recompile()
    return sized


def _is_of_sizes(node: torch.fx.Node) -> bool:
    """Returns whether a call only computes a number from sizes and numbers. Calls that enter `vmap` also return a number, but have effects."""
    if node.op == "call_method":
        return node.target in _SIZE_METHODS
    if node.op != "call_function":
        return False
    module = getattr(node.target, "__module__", None) or ""
    return module in _NUMBER_MODULES or str(getattr(node.target, "__name__", "")).startswith("sym_")


def _is_number(node: torch.fx.Node) -> bool:
    """Returns whether a graph uses an argument only by its `item()`, as a number."""
    return bool(node.users) and all(user.op == "call_method" and user.target == "item" for user in node.users)
