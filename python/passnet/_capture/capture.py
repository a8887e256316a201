"""Capture of PyTorch models as GraphNet samples.

:func:`capture` lets TorchDynamo trace a model. It keeps each graph that Dynamo makes of the model, with the values that the graph
is called with. :func:`extract` writes the graphs to disk in the sample layout of :mod:`passnet._capture.sample`.

Dynamo traces with fake tensors, which have shapes and no values. So a model that is one graph never runs: capture stops before the
call of the graph. Only a model with graph breaks runs, graph by graph, on real values.
"""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map

from passnet._capture import sample

# One forward of a deep model with graph breaks compiles the same code object once per layer.
_RECOMPILE_LIMIT = 1024


class CaptureError(RuntimeError):
    """A model cannot be captured as graphs; the message says why."""


@dataclasses.dataclass(frozen=True)
class CapturedGraph:
    """One graph of a model, and the values of its first call in the order of its placeholders.

    Values that are not parameters are copies, because the graph or later code of the model may write to the originals.
    """

    module: torch.fx.GraphModule
    inputs: list[Any]
    stage: str = ""
    """The stage of a training step (:mod:`passnet._capture.step`); empty for a graph that is not from a training step."""
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Operators that the model runs outside of its graphs, with the number of calls."""

    def of_stage(self, stage: str) -> CapturedGraph:
        """Returns the graph as a stage of a training step."""
        return dataclasses.replace(self, stage=stage)

    @property
    def ops(self) -> int:
        """Number of nodes other than inputs and output."""
        return sum(node.op not in ("placeholder", "output") for node in self.module.graph.nodes)


# Functions that a sample cannot name, with equal functions that it can. Dynamo captures `abs(tensor)` as `operator.abs`, and as a call of
# the method `__abs__` up to PyTorch 2.11.
_SPELLED: dict[Any, Any] = {operator.abs: torch.abs, "__abs__": torch.abs}


class _Captured(BaseException):
    """Ends a trace after its only graph is captured. A `BaseException`, because a model might catch an `Exception`."""


def capture(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    before_run: Callable[[], None] = lambda: None,
) -> list[CapturedGraph]:
    """Returns the graphs of ``model(*args, **kwargs)`` in the order in which they run.

    Modules are put into evaluation mode, and the call runs under ``torch.no_grad``. Parameters and buffers become
    placeholders (``L_self_modules_...``). Constants that Dynamo keeps as attributes become placeholders too, so that a
    graph needs nothing but its inputs. Each graph is called with concrete shapes. If the model has to run on real values,
    ``before_run`` is called first.

    Raises :class:`CaptureError` if nothing was captured, or if a graph calls another graph.
    """
    if isinstance(model, torch.nn.Module):
        model.eval()
    whole = _capture_whole(model, args, kwargs or {})
    if whole is not None:
        return [whole]
    before_run()
    return _capture_parts(model, args, kwargs or {})


def _capture_whole(model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> CapturedGraph | None:
    """Returns the model as one graph; None if Dynamo has to break the graph."""
    found: list[CapturedGraph] = []

    def backend(module: torch.fx.GraphModule, _example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            # Capture needs only the first call of the graph: its values have the shapes, and the rest of
            # the model does not have to run.
            found.append(close(module, values))
            raise _Captured

        return run

    try:
        trace(model, args, kwargs, backend, fullgraph=True)
    except _Captured:
        return found[0]
    except torch._dynamo.exc.TorchDynamoException:
        # The model runs part by part next, which shows whether Dynamo or the model failed.
        return None
    raise CaptureError("TorchDynamo found no tensor operation in the model")


def _capture_parts(model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[CapturedGraph]:
    captured: list[CapturedGraph] = []

    def backend(module: torch.fx.GraphModule, _example_inputs: list[Any]) -> Callable[..., Any]:
        seen = False

        def run(*values: Any) -> Any:
            nonlocal seen
            if not seen:
                seen = True
                captured.append(close(module, values))
            with torch.profiler.record_function(_INSIDE):
                return module.forward(*values)

        return run

    again = tree_map(_copied, (tuple(args), dict(kwargs)))
    compiled = trace(model, args, kwargs, backend, fullgraph=False)
    if not captured:
        raise CaptureError("TorchDynamo found no tensor operation in the model")
    # Profiles a second call. The first call compiled, and its profile would have operators of the compiler.
    left_out = _outside(lambda: compiled(*again[0], **again[1]))
    return [dataclasses.replace(graph, left_out=left_out) for graph in captured]


def _copied(value: Any) -> Any:
    """Returns a copy of an object that a call may change, such as a cache of keys and values."""
    if value is None or isinstance(value, torch.Tensor | str | int | float):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        # An object of the user that cannot be copied.
        return value


# Name of the calls of captured graphs in a profile.
_INSIDE = "passnet::captured"
# Operators that allocate memory, read a number or make a view. A graph loses no computation if it lacks them.
_BOOKKEEPING = {
    *("aten::empty", "aten::empty_strided", "aten::empty_like", "aten::zeros", "aten::ones", "aten::full"),
    *("aten::detach", "aten::alias", "aten::clone", "aten::copy_"),
    *("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::resolve_conj", "aten::resolve_neg"),
    *("aten::lift_fresh", "aten::view", "aten::select", "aten::slice", "aten::unbind", "aten::to", "aten::equal"),
}


def _outside(call: Callable[[], Any]) -> dict[str, int]:
    """Returns the operators that a compiled model runs outside of its graphs, with the number of calls.

    These are parts that Dynamo skips, such as an LSTM.
    """
    with torch.no_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    found: dict[str, int] = {}
    for event in profile.events() or ():
        # Operators call other operators. The model calls only the outermost one.
        is_outermost = event.cpu_parent is None or not _ancestors(event) & ({_INSIDE} | found.keys())
        if "::" in event.name and event.name not in (_INSIDE, *_BOOKKEEPING) and is_outermost:
            found[event.name] = found.get(event.name, 0) + 1
    return found


def _ancestors(event: Any) -> set[str]:
    names = set()
    while event.cpu_parent is not None:
        event = event.cpu_parent
        names.add(event.name)
    return names


def trace(
    model: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    backend: Any,
    *,
    fullgraph: bool,
    gradients: bool = False,
) -> Callable[..., Any]:
    """Calls the model under Dynamo with `backend`, at fixed shapes. Returns the compiled model."""
    # Dynamo does not trace code again that it compiled before, even if the model no longer
    # exists.
    torch._dynamo.reset()
    limits = {"recompile_limit": _RECOMPILE_LIMIT, "accumulated_recompile_limit": _RECOMPILE_LIMIT}
    with torch.set_grad_enabled(gradients), torch._dynamo.config.patch(**limits):
        compiled = torch.compile(model, backend=backend, dynamic=False, fullgraph=fullgraph)
        compiled(*args, **kwargs)
    return compiled


def extract(
    model: Callable[..., Any],
    *args: Any,
    out: str | Path,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> list[Path]:
    """Captures ``model(*args, **kwargs)`` and writes its graphs below the directory ``out``.

    One graph goes to ``out/name``. Several graphs, of a model with graph breaks, go to ``out/name/subgraph_0`` and so on.
    The default of ``name`` is the name of the model's class. An existing sample of that name is replaced. ``metadata`` is
    added to ``graph_net.json``.

    Returns the sample folders in the order in which the graphs ran. Raises :class:`CaptureError`, ``SampleError`` if a
    graph uses an operation or a constant that samples cannot express, and any exception of the model.
    """
    name = name or type(model).__name__
    fields = {"source": "user", "model_name": name, **(metadata or {})}
    return sample.write_model(Path(out), name, parts(name, capture(model, args, kwargs)), fields)


def parts(name: str, graphs: Sequence[CapturedGraph]) -> list[sample.Part]:
    """Returns the graphs of the model `name` with their folders and their own fields of the metadata.

    The graphs of a training step name one another (``linked``). If the model runs operators outside of its graphs, the metadata
    of all graphs says so (``partial``, ``left_out``).
    """
    linked = {graph.stage: f"{name}/{graph.stage}" for graph in graphs if graph.stage}
    left_out = next((dict(graph.left_out) for graph in graphs if graph.left_out), {})
    made = []
    for index, graph in enumerate(graphs):
        folder = graph.stage or (f"subgraph_{index}" if len(graphs) > 1 else "")
        fields: dict[str, Any] = {"stage": graph.stage, "linked": linked} if graph.stage else {}
        if left_out:
            fields |= {"partial": True, "left_out": left_out}
        made.append(sample.Part(graph.module, graph.inputs, folder, fields))
    return made


def close(module: torch.fx.GraphModule, values: Sequence[Any]) -> CapturedGraph:
    """Turns the attributes that `module` reads into placeholders, and pairs all placeholders with their values.

    Raises :class:`CaptureError` if an attribute is a nested graph.
    """
    graph = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    inputs = [_frozen(value) for value in values]
    lifted: dict[str, torch.fx.Node] = {}
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        value = _attribute(module, node.target)
        if not isinstance(value, torch.Tensor):
            raise CaptureError(
                f"`{node.target}` is a nested graph (torch.cond, checkpointing ...), which a sample cannot hold"
            )
        # An attribute that is read several times becomes one placeholder.
        if node.target not in lifted:
            lifted[node.target] = node
            inputs.append(_frozen(value))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            copies[node] = graph.node_copy(node)
    placeholders = {
        target: graph.placeholder(f"L_constant_{node.name}_", type_expr=torch.Tensor) for target, node in lifted.items()
    }
    for node in module.graph.nodes:
        if node.op == "get_attr":
            copies[node] = placeholders[node.target]
        elif node.op != "placeholder":
            copies[node] = graph.node_copy(node, copies.__getitem__)
            if node.target in _SPELLED:
                copies[node].op, copies[node].target = "call_function", _SPELLED[node.target]
    return CapturedGraph(torch.fx.GraphModule(module, graph), inputs)


def _attribute(module: torch.nn.Module, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _frozen(value: Any) -> Any:
    # Parameters are not copied: that would double the memory of a model.
    if isinstance(value, torch.nn.Parameter):
        return value
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
