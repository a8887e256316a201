"""Capture of PyTorch models as GraphNet samples.

:func:`capture` lets TorchDynamo trace a model and keeps every graph that Dynamo makes of it, with the values that the
graph is called with. :func:`extract` writes them to disk in the sample layout of :mod:`passnet._capture.sample`.

Dynamo traces with fake tensors, which have shapes and no values. A model that is one graph is therefore never run: capture
stops where the graph would be called. Only a model with graph breaks is run, graph by graph, on real values.
"""

from __future__ import annotations

import dataclasses
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

    @property
    def ops(self) -> int:
        """Number of nodes other than inputs and output."""
        return sum(node.op not in ("placeholder", "output") for node in self.module.graph.nodes)


class _Captured(BaseException):
    """Ends a trace whose only graph is known. No model catches it, as one might catch an `Exception`."""


def capture(
    model: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    before_run: Callable[[], None] = lambda: None,
) -> list[CapturedGraph]:
    """The graphs of ``model(*args, **kwargs)`` in the order in which they run.

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
    """The model as one graph; None where Dynamo has to break it."""
    found: list[CapturedGraph] = []

    def backend(module: torch.fx.GraphModule, _example_inputs: list[Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            found.append(_close(module, values))
            raise _Captured

        return run

    try:
        _trace(model, args, kwargs, backend, fullgraph=True)
    except _Captured:
        return found[0]
    except torch._dynamo.exc.TorchDynamoException:
        # Running it part by part says whether it is Dynamo or the model that fails.
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
                captured.append(_close(module, values))
            return module.forward(*values)

        return run

    _trace(model, args, kwargs, backend, fullgraph=False)
    if not captured:
        raise CaptureError("TorchDynamo found no tensor operation in the model")
    return captured


def _trace(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], backend: Any, *, fullgraph: bool
) -> None:
    torch._dynamo.reset()
    limits = {"recompile_limit": _RECOMPILE_LIMIT, "accumulated_recompile_limit": _RECOMPILE_LIMIT}
    with torch.no_grad(), torch._dynamo.config.patch(**limits):
        torch.compile(model, backend=backend, dynamic=False, fullgraph=fullgraph)(*args, **kwargs)


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
    graphs = [(graph.module, graph.inputs) for graph in capture(model, args, kwargs)]
    return sample.write_model(Path(out), name, graphs, fields)


def _close(module: torch.fx.GraphModule, values: Sequence[Any]) -> CapturedGraph:
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
    return CapturedGraph(torch.fx.GraphModule(module, graph), inputs)


def _attribute(module: torch.nn.Module, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, torch.nn.Parameter):
        return value
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
