"""Capture of PyTorch models as GraphNet samples.

:func:`capture` lets TorchDynamo trace a model and keeps every graph that Dynamo makes of it, with the values that the
graph is called with. :func:`extract` writes them to disk in the sample layout of :mod:`passnet._capture.sample`.

Dynamo traces with fake tensors, which have shapes and no values. A model that is one graph is therefore never run: capture
stops where the graph would be called. Only a model with graph breaks is run, graph by graph, on real values.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from passnet._capture import sample

# One forward of a deep model with graph breaks compiles the same code object once per layer.
_RECOMPILE_LIMIT = 1024


class CaptureError(RuntimeError):
    """A model that cannot be written down as graphs; the message says why."""


@dataclasses.dataclass(frozen=True)
class CapturedGraph:
    """One graph of a model, and the values of its first call in the order of its placeholders.

    Values that are not parameters are copies: the graph, or the model after it, may write to the originals.
    """

    module: torch.fx.GraphModule
    inputs: list[Any]
    stage: str = ""
    """The stage of a training step (:mod:`passnet._capture.step`); empty outside of one."""
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Operators that the model runs outside of its graphs, with the number of calls."""

    def of_stage(self, stage: str) -> CapturedGraph:
        """Returns the graph as a stage of a training step."""
        return dataclasses.replace(self, stage=stage)

    @property
    def ops(self) -> int:
        """Number of nodes other than inputs and output."""
        return sum(node.op not in ("placeholder", "output") for node in self.module.graph.nodes)


# Functions for which Python has no syntax, as a sample can name them. Dynamo makes `operator.abs` of `abs(tensor)`.
_SPELLED: dict[Any, Any] = {operator.abs: torch.abs}


class _Captured(BaseException):
    """Ends a trace whose only graph is known. No model catches it, as one might catch an `Exception`."""


def capture(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    before_run: Callable[[], None] = lambda: None,
) -> list[CapturedGraph]:
    """Returns the graphs of ``model(*args, **kwargs)`` in the order in which they run.

    Modules are put into evaluation mode, and the call is under ``torch.no_grad``. Parameters and buffers become
    placeholders (``L_self_modules_...``); constants that Dynamo keeps as attributes become placeholders too, so that a
    graph is closed. Each graph is called with concrete shapes. ``before_run`` is called where the model has to be run on
    real values, before that.

    Raises :class:`CaptureError` where nothing was captured or a graph calls another graph.
    """
    if isinstance(model, torch.nn.Module):
        model.eval()
    whole = _capture_whole(model, args, kwargs or {})
    if whole is not None:
        return [whole]
    before_run()
    return _capture_parts(model, args, kwargs or {})


def _capture_whole(model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> CapturedGraph | None:
    """Returns the model as one graph; None where Dynamo has to break it."""
    found: list[CapturedGraph] = []

    def backend(module: torch.fx.GraphModule, _example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            # The first call of the graph is all that is needed: shapes are in its values, and the rest of
            # the model need not run.
            found.append(close(module, values))
            raise _Captured

        return run

    try:
        trace(model, args, kwargs, backend, fullgraph=True)
    except _Captured:
        return found[0]
    except torch._dynamo.exc.TorchDynamoException:
        # Running it part by part shows whether Dynamo or the model fails.
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

    compiled = trace(model, args, kwargs, backend, fullgraph=False)
    if not captured:
        raise CaptureError("TorchDynamo found no tensor operation in the model")
    # A second call: the first one compiled, and operators of the compiler would be in the profile.
    left_out = _outside(lambda: compiled(*args, **kwargs))
    return [dataclasses.replace(graph, left_out=left_out) for graph in captured]


# Name of the calls of captured graphs in a profile.
_INSIDE = "passnet::captured"
# Operators that make memory, read a number or name a part of a tensor: they compute nothing that a graph would hold.
_BOOKKEEPING = {
    *("aten::empty", "aten::empty_strided", "aten::empty_like", "aten::zeros", "aten::ones", "aten::full"),
    *("aten::detach", "aten::alias", "aten::clone", "aten::copy_"),
    *("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::resolve_conj", "aten::resolve_neg"),
    *("aten::lift_fresh", "aten::view", "aten::select", "aten::slice", "aten::unbind", "aten::to", "aten::equal"),
}


def _outside(call: Callable[[], Any]) -> dict[str, int]:
    """Returns the operators that a compiled model runs outside of its graphs: parts that Dynamo passes over, such as an LSTM."""
    with torch.no_grad(), torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    found: dict[str, int] = {}
    for event in profile.events() or ():
        # Operators call others; only the outermost is one that the model calls.
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
    """Calls the model under Dynamo with a separate backend, at fixed shapes. Returns the compiled model."""
    # Dynamo remembers code that it compiled before, also for a model that is gone; it would not trace that
    # again.
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

    One graph goes to ``out/name``; several (a model with graph breaks) to ``out/name/subgraph_0`` and so on. ``name`` is
    the class of the model where it is not given. A sample of that name that is there already is replaced. ``metadata`` is
    added to ``graph_net.json``.

    Returns the sample folders in the order in which the graphs ran. Raises :class:`CaptureError`, ``SampleError`` where a
    graph uses something that samples cannot express, and any exception of the model.
    """
    name = name or type(model).__name__
    fields = {"source": "user", "model_name": name, **(metadata or {})}
    return sample.write_model(Path(out), name, parts(name, capture(model, args, kwargs)), fields)


def parts(name: str, graphs: Sequence[CapturedGraph]) -> list[sample.Part]:
    """Returns the graphs of the model `name` with their folders and what their metadata says of each.

    The graphs of a training step name one another (``linked``). Where the model runs operators outside of its graphs, all of them say so
    (``partial``, ``left_out``).
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
    """Turns the attributes that `module` reads into placeholders and pairs all placeholders with their values."""
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
            copies[node].target = _SPELLED.get(node.target, node.target)
    return CapturedGraph(torch.fx.GraphModule(module, graph), inputs)


def _attribute(module: torch.nn.Module, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _frozen(value: Any) -> Any:
    # Copies of parameters would double the memory of a model.
    if isinstance(value, torch.nn.Parameter):
        return value
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
