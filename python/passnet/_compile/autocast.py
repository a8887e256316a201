"""Replaces autocast in a captured call without gradients: its casts become calls of the graph, which then runs without autocast.

A pass replaces operations of known types. Under autocast, an operation computes in types other than those of its arguments.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from passnet._backend.compare import difference
from passnet._backend.modes import autocast_devices, enters_mode
from passnet._backend.types import without_data
from passnet._compile.capture import Captured

Run = Callable[..., Sequence[Any]]
Casts = dict[torch.fx.Node, torch.dtype]


class ImplicitCastError(Exception):
    """The casts of autocast cannot be written into a graph; the message says why."""


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Switches autocast off for all devices, without clearing its cache."""
    devices = autocast_devices()
    for device in devices:
        torch.set_autocast_enabled(device, False)
    try:
        yield
    finally:
        for device in devices:
            torch.set_autocast_enabled(device, True)


@contextlib.contextmanager
def uncached() -> Iterator[None]:
    """Switches the cache of autocast off for this thread.

    This prevents a deadlock. Python code that runs below autocast, such as that of fake tensors, waits for the interpreter lock while
    autocast holds the lock of its cache. Another thread that leaves autocast holds the interpreter lock and waits for that of the cache.
    """
    has_cache = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(has_cache)


class CastWeights:
    """Weights in the type that autocast casts them to. As in autocast, a weight is cast once and kept until autocast is left."""

    def __init__(self, weights: list[torch.Tensor], casts: list[torch.Tensor]) -> None:
        self.weights = weights
        self.casts = casts
        self._sentinel = torch.ones(1, 1, requires_grad=True)
        self._kept: StorageWeakRef | None = None

    def renew(self) -> None:
        """Casts the weights again if autocast would."""
        if self._kept is None or self._kept.expired():
            with torch.no_grad():
                torch._foreach_copy_(self.casts, self.weights)
            self._kept = self._kept_by_autocast() if torch.is_autocast_cache_enabled() else None

    def _kept_by_autocast(self) -> StorageWeakRef:
        """Returns a reference to memory that is released when the cache of autocast is cleared.

        The memory is that of a cast tensor, read from what autograd saves. A dispatch mode would see the cast too, but could cause
        the deadlock that `uncached` describes.
        """
        is_enabled, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        torch.set_autocast_enabled("cpu", True)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                saved: Any = torch.mm(self._sentinel, self._sentinel).grad_fn
        finally:
            torch.set_autocast_enabled("cpu", is_enabled)
            torch.set_autocast_dtype("cpu", dtype)
        return StorageWeakRef(saved._saved_self.untyped_storage())


def run_without(run: Run, weights: CastWeights) -> Run:
    """Returns a function for calls under the currently enabled autocast. It switches autocast off, runs `run`, and switches it on again."""
    devices = autocast_devices()
    switch = torch.set_autocast_enabled

    # Does not use `disabled`: a context manager in Python costs a microsecond per call.
    def call(*inputs: Any) -> Sequence[Any]:
        if weights.casts:
            weights.renew()
        for device in devices:
            switch(device, False)
        try:
            return run(*inputs)
        finally:
            for device in devices:
                switch(device, True)

    return call


def write_casts(captured: Captured) -> CastWeights:
    """Changes the captured graph so that it computes without autocast what it computes under the currently enabled autocast.

    Returns the casts of weights that autocast caches. They become state of the graph.

    Raises `ImplicitCastError` if an operation makes casts inside, if the graph switches autocast itself, or if the new graph gives
    another result. The graph is unchanged in these cases.
    """
    module = captured.module
    if enters_mode(module.graph):
        raise ImplicitCastError("the model enters a mode of PyTorch itself")
    finder = _Finder(module)
    # Without the cache, so that all casts are made and seen, also those of weights that were cast before.
    with uncached(), captured.undisturbed() as theirs:
        expected = finder.run(*theirs)
    written = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    weights = _insert(written, finder, _kept(captured, module.graph))
    with disabled(), captured.undisturbed() as ours:
        found = written.forward(*ours, *weights.casts)
    if reason := difference((*found, *ours), (*expected, *theirs), weights.casts):
        raise ImplicitCastError(f"the result does not follow from the recorded casts: {reason}")
    captured.module = written
    captured.state = [*captured.state, *weights.casts]
    return weights


def _kept(captured: Captured, graph: torch.fx.Graph) -> dict[str, torch.Tensor]:
    """Returns the weights whose casts autocast caches, by the name of their placeholder."""
    names = [node.name for node in graph.nodes if node.op == "placeholder"]
    state = dict(zip(names[len(captured.used) :], captured.state, strict=True))
    return {
        name: value
        for name, value in state.items()
        if value.dtype == torch.float32 and value.requires_grad and value.is_leaf and not value._is_view()
    }


class _Finder(torch.fx.Interpreter):
    """Runs a graph under autocast, and finds for each call the casts of arguments that give the same result without autocast."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.casts: dict[str, dict[str, torch.dtype]] = {}
        """For each call, by name: the arguments that are cast, by name, with the types they are cast to."""
        self.values: dict[tuple[str, torch.dtype], torch.Tensor] = {}
        """Values after their casts, by name of the value and type of the cast."""

    def run_node(self, node: torch.fx.Node) -> Any:
        if node.op not in ("call_function", "call_method"):
            return super().run_node(node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        versions = _versions(tensors)
        # A call may draw random numbers. Its repetition without autocast starts from the same state.
        random = torch.random.get_rng_state()
        with _Watch() as watch:
            result = _call(node, args, kwargs)
        if not watch.casts:
            return result
        # The call cannot be repeated for comparison: its arguments are no longer the same.
        if versions != _versions(tensors):
            raise ImplicitCastError(f"`{node.name}` writes to an argument, and autocast casts")
        operands = [operand for operand in node.all_input_nodes if isinstance(self.env[operand], torch.Tensor)]
        for casts in _proposals(operands, self.env, watch.casts):
            values = {operand: self.env[operand].to(dtype) for operand, dtype in casts.items()}
            if _is_equal(self._explicit(node, values, random), result):
                self.casts[node.name] = {operand.name: dtype for operand, dtype in casts.items()}
                self.values.update({(operand.name, dtype): values[operand] for operand, dtype in casts.items()})
                return result
        raise ImplicitCastError(f"`{node.name}` casts values within itself")

    def _explicit(self, node: torch.fx.Node, values: dict[torch.fx.Node, torch.Tensor], random: torch.Tensor) -> Any:
        """Returns the result of a call without autocast on these values; None if the call raises an exception for their types."""
        args, kwargs = _replaced(node, lambda operand: values.get(operand, self.env[operand]))
        after = torch.random.get_rng_state()
        torch.random.set_rng_state(random)
        try:
            with disabled():
                return _call(node, args, kwargs)
        except RuntimeError:  # The operation does not support these types.
            return None
        finally:
            torch.random.set_rng_state(after)


def _versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    """Returns the number of writes to each tensor; inference tensors have no count."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors]


class _Watch(TorchDispatchMode):
    """Records the casts that operators make."""

    def __init__(self) -> None:
        super().__init__()
        self.casts: list[tuple[torch.Tensor, torch.dtype]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        dtype = kwargs.get("dtype")
        if func is torch.ops.aten._to_copy.default and dtype is not None and dtype != args[0].dtype:
            self.casts.append((args[0], dtype))
        return func(*args, **kwargs)


def _proposals(
    operands: Sequence[torch.fx.Node],
    values: dict[torch.fx.Node, Any],
    seen: Sequence[tuple[torch.Tensor, torch.dtype]],
) -> Iterator[Casts]:
    """Yields sets of casts that may explain a result: no casts, the casts that were seen, and casts of all arguments to the one type seen."""
    # A conversion such as `x.to(torch.float16)` makes its cast itself.
    yield {}
    yield {operand: dtype for operand in operands for value, dtype in seen if value is values[operand]}
    dtypes = {dtype for _, dtype in seen}
    if len(dtypes) == 1:
        (dtype,) = dtypes
        # The operation cast a view of its argument.
        yield {operand: dtype for operand in operands if values[operand].dtype.is_floating_point}


def _call(node: torch.fx.Node, args: tuple, kwargs: dict[str, Any]) -> Any:
    if node.op == "call_method":
        return getattr(args[0], node.target)(*args[1:], **kwargs)
    return node.target(*args, **kwargs)


def _replaced(node: torch.fx.Node, value: Callable[[torch.fx.Node], Any]) -> tuple[tuple, dict[str, Any]]:
    return torch.fx.map_arg(node.args, value), torch.fx.map_arg(node.kwargs, value)


def _is_equal(found: Any, expected: Any) -> bool:
    found, expected = pytree.tree_leaves(found), pytree.tree_leaves(expected)
    return len(found) == len(expected) and all(map(_are_equal, found, expected))


def _are_equal(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return a is b or (type(a) is type(b) and a == b)
    is_alike = (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
    return is_alike and bool(((a == b) | ((a != a) & (b != b))).all())


def _insert(module: torch.fx.GraphModule, finder: _Finder, kept: dict[str, torch.Tensor]) -> CastWeights:
    """Adds the casts to a graph, each once per value and type.

    A cast of a weight that autocast caches becomes a placeholder; any other cast becomes a call.
    """
    graph, mode = module.graph, FakeTensorMode()
    *_, last = (node for node in graph.nodes if node.op == "placeholder")
    known: dict[tuple[str, torch.dtype], torch.fx.Node] = {}
    weights = CastWeights([], [])

    def added(key: tuple[str, torch.dtype], operand: torch.fx.Node, user: torch.fx.Node) -> torch.fx.Node:
        nonlocal last
        value = finder.values[key]
        # Autocast caches only casts to float16 and bfloat16.
        if operand.name in kept and value.dtype in (torch.float16, torch.bfloat16):
            with graph.inserting_after(last):
                last = node = graph.placeholder(f"{operand.name}_cast")
            weights.weights.append(kept[operand.name].detach())
            weights.casts.append(value)
        else:
            with graph.inserting_before(user):
                node = graph.call_method("to", (operand, value.dtype))
        node.meta["example_value"] = without_data(value, mode)
        return node

    for node in list(graph.nodes):
        casts = finder.casts.get(node.name, {})

        def cast(operand: torch.fx.Node) -> torch.fx.Node:
            dtype = casts.get(operand.name)  # noqa: B023
            if dtype is None:
                return operand
            key = operand.name, dtype
            if key not in known:
                known[key] = added(key, operand, node)  # noqa: B023
            return known[key]

        if casts:
            node.args, node.kwargs = _replaced(node, cast)
    graph.lint()
    module.recompile()
    return weights
