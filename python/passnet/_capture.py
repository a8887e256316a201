"""Capture of PyTorch models as GraphNet samples.

:func:`capture` runs a model once through TorchDynamo and keeps every graph that Dynamo makes of it, with the values the
graph was called with. :func:`extract` writes them to disk in the sample layout of :mod:`passnet._sample`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from passnet import _sample

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


def capture(
    model: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> list[CapturedGraph]:
    """Calls ``model(*args, **kwargs)`` once and returns its graphs in the order in which they ran.

    Modules are put into evaluation mode, and the call runs under ``torch.no_grad``. Parameters and buffers become
    placeholders (``L_self_modules_...``); constants that Dynamo keeps as attributes become placeholders too, so that a
    graph is closed. Each graph is called with concrete shapes.

    Raises :class:`CaptureError` where nothing was captured or a graph calls another graph.
    """
    if isinstance(model, torch.nn.Module):
        model.eval()
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

    torch._dynamo.reset()
    with (
        torch.no_grad(),
        torch._dynamo.config.patch(recompile_limit=_RECOMPILE_LIMIT, accumulated_recompile_limit=_RECOMPILE_LIMIT),
    ):
        torch.compile(model, backend=backend, dynamic=False)(*args, **(kwargs or {}))
    if not captured:
        raise CaptureError("TorchDynamo found no tensor operation in the model")
    return captured


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
    graph uses something that samples cannot say, or whatever the model itself raises.
    """
    name = name or type(model).__name__
    fields = {"source": "user", "model_name": name, **(metadata or {})}
    graphs = [(graph.module, graph.inputs) for graph in capture(model, args, kwargs)]
    return _sample.write_model(Path(out), name, graphs, fields)


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
