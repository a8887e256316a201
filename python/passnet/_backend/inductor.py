"""Compiles with TorchInductor the operations that no pass replaces. Its hook `pre_grad_custom_pass` applies the passes. TorchInductor
sees each replacement as one custom operator."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._inductor
import torch.fx
from torch._guards import TracingContext, tracing
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from passnet import _native
from passnet._backend.regions import regions_of
from passnet._passes.errors import PassError
from passnet._passes.load import Pass
from passnet._passes.rewrite import rewrite
from passnet._passes.trace import IN_PLACE_OPERATORS

_NAMESPACE = "passnet_region"
# Types of arguments in a schema. A region with an argument of another type is left to TorchInductor.
_KINDS = {bool: "bool", int: "int", float: "float", str: "str"}

_lock = threading.Lock()
_operators: dict[str, Callable[..., Any]] = {}
_library: list[torch.library.Library] = []


class RegionPass(CustomGraphPass):
    """Passes as a hook of TorchInductor. TorchInductor caches compiled code by the graph and `uuid`, also for other processes."""

    def __init__(self, passes: Sequence[Pass]) -> None:
        self.passes = [_opaque(rule) for rule in passes]
        parts = [_native.VERSION, *(rule.digest for rule in passes)]
        self._uuid = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self.matches = 0

    def __call__(self, graph: torch.fx.Graph) -> None:
        module = graph.owning_module or torch.fx.GraphModule({}, graph)
        for rule in self.passes:
            try:
                rewriting = rewrite(module, [rule])
            except PassError:
                continue
            self.matches += sum(report.matches for report in rewriting.passes)

    def __deepcopy__(self, _memo: dict[int, Any]) -> RegionPass:
        # TorchInductor of PyTorch 2.6 copies its settings to compute a cache key. Prepared replacements cannot be copied.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # TorchInductor also pickles its settings to compute a cache key.
        return str, (self._uuid,)

    def uuid(self) -> str:
        """Returns a hash of the passes in their order and of PassNet's version."""
        return self._uuid


def compile_rest(
    module: torch.fx.GraphModule, example: Sequence[Any], passes: Sequence[Pass]
) -> tuple[Callable[..., Any], int]:
    """Returns the graph compiled by TorchInductor, whose hook applies these passes, and the number of places where they matched.

    `module` is not changed. Regions with arguments or effects that an operator cannot have are left to TorchInductor.
    """
    hook = RegionPass(passes)
    # On a copy, only to count the places: the real hook runs inside TorchInductor, or not at all if its
    # cache has the graph.
    trial = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    hook(trial.graph)
    # Code from the cache calls the operators without a run of the hook, so they are defined here.
    sites = regions_of(trial.graph, hook.passes)
    for node, rule in sites.items():
        _operator(rule, node.args)
    own = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    with _shape_environment():
        return torch._inductor.compile(own, list(example), options={"pre_grad_custom_pass": hook}), len(sites)


def _shape_environment() -> contextlib.AbstractContextManager[Any]:
    """Returns a context with sizes as TorchInductor expects them from Dynamo. Without it, TorchInductor does not use its cache on disk."""
    if TracingContext.try_get() is not None:
        return contextlib.nullcontext()
    return tracing(TracingContext(FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)))


def _opaque(rule: Pass) -> Pass:
    """Returns the pass with a replacement that TorchInductor sees as one operator."""

    def replacement(*values: Any) -> Any:
        operator = _operator(rule, values)
        return _pattern(rule)(*values) if operator is None else operator(*values)

    made = dataclasses.replace(rule, replacement=replacement)
    vars(made).update(canonical=rule.canonical, origin=rule)
    return made


def _operator(rule: Pass, values: Sequence[Any]) -> Callable[..., Any] | None:
    """Returns the operator of a replacement for arguments of these types; None if an operator cannot have such arguments."""
    origin = vars(rule).get("origin", rule)
    kinds = [
        "Tensor" if isinstance(value, (torch.Tensor, torch.fx.Node)) else _KINDS.get(type(value)) for value in values
    ]
    if None in kinds or _writes(origin):
        return None
    count = len(rule.outputs)
    results = "Tensor" if not rule.returns_sequence else f"({', '.join(['Tensor'] * count)})"
    schema = f"({', '.join(f'{kind} x{number}' for number, kind in enumerate(kinds))}) -> {results}"
    name = "r" + hashlib.sha256(f"{rule.digest}{schema}".encode()).hexdigest()[:24]
    with _lock:
        if name not in _operators:
            _operators[name] = _defined(name, schema, origin)
    return _operators[name]


def _defined(name: str, schema: str, rule: Pass) -> Callable[..., Any]:
    if not _library:
        _library.append(torch.library.Library(_NAMESPACE, "DEF"))
    library = _library[0]
    library.define(name + schema)
    run, pattern = rule.replacement, _pattern(rule)

    def implementation(*values: Any) -> Any:
        return _owned(run(*values), values, rule.returns_sequence)

    def fake(*values: Any) -> Any:
        return _owned(pattern(*values), values, rule.returns_sequence)

    for key in ("CPU", "CUDA"):
        library.impl(name, implementation, key)
    torch.library.register_fake(f"{_NAMESPACE}::{name}", fake, lib=library)
    return getattr(getattr(torch.ops, _NAMESPACE), name).default


def _owned(results: Any, values: Sequence[Any], is_sequence: bool) -> Any:
    """Returns the results in memory that is not that of the arguments, as an operator must."""
    given = {value.untyped_storage()._cdata for value in values if isinstance(value, torch.Tensor)}
    parts = list(results) if isinstance(results, (tuple, list)) else [results]
    # TorchInductor plans memory as if results of operators never alias their arguments.
    owned = tuple(part.clone() if part.untyped_storage()._cdata in given else part for part in parts)
    return owned if is_sequence else owned[0]


def _pattern(rule: Pass) -> Callable[..., Any]:
    return torch.fx.GraphModule({}, rule.pattern).forward


def _writes(rule: Pass) -> bool:
    """Returns whether a pattern may write to its arguments, by the names of the functions that it calls."""
    for node in rule.pattern.nodes:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        is_in_place = name.endswith("_") and not name.endswith("__")
        if is_in_place or name in _WRITING or node.kwargs.get("inplace") or "out" in node.kwargs:
            return True
    return False


_WRITING = {f"i{name}" for name in IN_PLACE_OPERATORS} | {"setitem", "batch_norm"}
