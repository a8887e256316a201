"""Autocast in a captured call without gradients: the casts that it makes become calls of the graph, which then runs without it.

A pass replaces operations of known types. Under autocast the types that an operation computes in are not those of its arguments.
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
    """Casts of autocast cannot be written into a graph; the message says why."""


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Switches autocast off for all devices, and leaves its cache as it is."""
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

    Code in Python that runs below autocast, such as Dynamo's tensors without data, waits for the interpreter while autocast holds the lock of that
    cache. A thread that leaves autocast has the interpreter and waits for the lock.
    """
    has_cache = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(has_cache)


class CastWeights:
    """Weights in the type that autocast casts them to. Autocast casts a weight once until it is left, and so do these."""

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
        """A reference to memory that is released when the cache of autocast is cleared.

        The cast of a tensor, which autograd saves. A dispatch mode would see it too, but would wait for the interpreter while autocast
        holds the lock of its cache, for which a thread may wait that has the interpreter.
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
    """The function for calls under the autocast that is enabled now, which it switches off."""
    devices = autocast_devices()
    switch = torch.set_autocast_enabled

    # Not `disabled`: a context manager in Python costs a microsecond in each call.
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
    """Changes the captured graph so that without autocast it computes what it computes under the one that is enabled.

    The casts of weights that autocast keeps become state of the graph, which is returned.

    Raises `ImplicitCastError` if an operation has casts within itself, if the graph switches autocast itself, or if the new graph gives
    another result; the graph is then as it was.
    """
    module = captured.module
    if enters_mode(module.graph):
        raise ImplicitCastError("the model enters a mode of PyTorch itself")
    finder = _Finder(module)
    # With the cache, a weight that was cast before is not cast again.
    with uncached(), captured.undisturbed() as theirs:
        expected = finder.run(*theirs)
    written = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    weights = _insert(written, finder, _kept(captured, module.graph))
    with disabled(), captured.undisturbed() as ours:
        found = written.forward(*ours, *weights.casts)
    if reason := difference((*found, *ours), (*expected, *theirs), weights.casts):
        raise ImplicitCastError(f"the casts do not explain the result: {reason}")
    captured.module = written
    captured.state = [*captured.state, *weights.casts]
    return weights


def _kept(captured: Captured, graph: torch.fx.Graph) -> dict[str, torch.Tensor]:
    """The weights, by the name of their placeholder, whose casts autocast keeps."""
    names = [node.name for node in graph.nodes if node.op == "placeholder"]
    state = dict(zip(names[len(captured.used) :], captured.state, strict=True))
    return {
        name: value
        for name, value in state.items()
        if value.dtype == torch.float32 and value.requires_grad and value.is_leaf and not value._is_view()
    }


class _Finder(torch.fx.Interpreter):
    """Runs a graph under autocast, and finds for each call the arguments to cast so that it gives the same without."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.casts: dict[str, dict[str, torch.dtype]] = {}
        """By name of a call, the types of those of its arguments, by name, that are cast."""
        self.values: dict[tuple[str, torch.dtype], torch.Tensor] = {}
        """Values as they are cast."""

    def run_node(self, node: torch.fx.Node) -> Any:
        if node.op not in ("call_function", "call_method"):
            return super().run_node(node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        versions = _versions(tensors)
        # A call may draw numbers; it is repeated without autocast from the same state.
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
        """The result of a call without autocast, of these values in place of those of the graph; None if it refuses them."""
        args, kwargs = _replaced(node, lambda operand: values.get(operand, self.env[operand]))
        after = torch.random.get_rng_state()
        torch.random.set_rng_state(random)
        try:
            with disabled():
                return _call(node, args, kwargs)
        except RuntimeError:  # Types that do not fit.
            return None
        finally:
            torch.random.set_rng_state(after)


def _versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    """Returns the number of writes to each tensor; inference tensors do not count them."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors]


class _Watch(TorchDispatchMode):
    """Notes the casts that are made."""

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
    """Casts of arguments that may be those of an operation: none, those that were seen, and all to the type that all casts were to."""
    # A conversion such as `x.to(torch.float16)` casts on its own.
    yield {}
    yield {operand: dtype for operand in operands for value, dtype in seen if value is values[operand]}
    dtypes = {dtype for _, dtype in seen}
    if len(dtypes) == 1:
        (dtype,) = dtypes
        # Within the operation a view of the argument was cast.
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
    """Adds the casts to a graph, each once for a value and type: as calls, and as more placeholders for weights that are kept."""
    graph, mode = module.graph, FakeTensorMode()
    *_, last = (node for node in graph.nodes if node.op == "placeholder")
    known: dict[tuple[str, torch.dtype], torch.fx.Node] = {}
    weights = CastWeights([], [])

    def added(key: tuple[str, torch.dtype], operand: torch.fx.Node, user: torch.fx.Node) -> torch.fx.Node:
        nonlocal last
        value = finder.values[key]
        # Autocast keeps casts to its lower types only.
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
