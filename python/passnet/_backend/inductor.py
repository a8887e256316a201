"""TorchInductor for the operations that no pass replaces: its hook `pre_grad_custom_pass` applies the passes, and each replacement is an
operator to it."""

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
# Types of arguments in a schema; a region with another kind of argument is left to TorchInductor.
_KINDS = {bool: "bool", int: "int", float: "float", str: "str"}

_lock = threading.Lock()
_operators: dict[str, Callable[..., Any]] = {}
_library: list[torch.library.Library] = []


class RegionPass(CustomGraphPass):
    """Passes as a hook of TorchInductor. Its compiled code is cached by the graph and `uuid`, also for other processes."""

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
        # TorchInductor of PyTorch 2.6 copies its settings to compute a key; prepared replacements cannot be copied.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # It also pickles them.
        return str, (self._uuid,)

    def uuid(self) -> str:
        """A hash of the passes in their order and of PassNet's version."""
        return self._uuid


def compile_rest(
    module: torch.fx.GraphModule, example: Sequence[Any], passes: Sequence[Pass]
) -> tuple[Callable[..., Any], int]:
    """The graph compiled by TorchInductor, with these passes applied by its hook, and the number of places where they matched.

    `module` stays as it is. Regions with arguments or effects that no operator can have are left to TorchInductor.
    """
    hook = RegionPass(passes)
    # On a copy, only to count the places: the real hook runs inside TorchInductor, or not at all where its
    # cache has the graph.
    trial = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    hook(trial.graph)
    # Cached code calls the operators without asking the hook.
    sites = regions_of(trial.graph, hook.passes)
    for node, rule in sites.items():
        _operator(rule, node.args)
    own = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    with _shape_environment():
        return torch._inductor.compile(own, list(example), options={"pre_grad_custom_pass": hook}), len(sites)


def _shape_environment() -> contextlib.AbstractContextManager[Any]:
    """Sizes as TorchInductor expects them from Dynamo: without, its cache on disk is not used."""
    if TracingContext.try_get() is not None:
        return contextlib.nullcontext()
    return tracing(TracingContext(FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)))


def _opaque(rule: Pass) -> Pass:
    """The pass with a replacement that TorchInductor takes for a separate operator."""

    def replacement(*values: Any) -> Any:
        operator = _operator(rule, values)
        return _pattern(rule)(*values) if operator is None else operator(*values)

    made = dataclasses.replace(rule, replacement=replacement)
    vars(made).update(canonical=rule.canonical, origin=rule)
    return made


def _operator(rule: Pass, values: Sequence[Any]) -> Callable[..., Any] | None:
    """The operator of a replacement for arguments of these kinds; None if there can be none."""
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
    """Returns results in separate memory, as an operator must."""
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
