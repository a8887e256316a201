"""Reports of the backend on captured graphs: the places where passes matched, and the calls for which a pass was not used."""

from __future__ import annotations

import os
import types
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.fx
from torch._dynamo.symbolic_convert import InstructionTranslator

from passnet._backend.fallback import Refusals
from passnet._backend.sizes import SizesReport
from passnet._passes.rewrite import Rewriting


@dataclass
class GraphReport:
    """A graph that Dynamo captured, and the result of its compilation."""

    source: str
    """The function that the graph was captured from, with file and line."""
    operations: int
    matches: dict[str, int] = field(default_factory=dict)
    """Number of places where each pass matched, by name of the pass; 0 for a pass without matches."""
    misses: dict[str, str] = field(default_factory=dict)
    """For each pass that matched nowhere: its nearest miss in words."""
    refusals: dict[str, Refusals] = field(default_factory=dict)
    """For each pass: the calls that were left to PyTorch."""
    not_authored: str | None = None
    """Reason why the built-in author wrote nothing for the graph."""
    sizes: SizesReport | None = None
    """The sizes that a graph with symbolic sizes was called with; None for any other graph."""
    stages: list[Sequence[Any]] = field(default_factory=list)
    """For each specialisation the reports of forward and backward where gradients are required (`passnet._backend.stages.StageReport`)."""
    _code: types.CodeType | None = None
    _tensors: list[weakref.ref[torch.Tensor]] = field(default_factory=list)

    @classmethod
    def of(cls, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> GraphReport:
        """Returns a report on a graph that is about to be rewritten."""
        code = _traced_code()
        operations = sum(node.op not in ("placeholder", "output", "get_attr") for node in module.graph.nodes)
        # Parameters and buffers distinguish models that share their code.
        # Weak references, so that a report does not keep the weights of a model alive.
        tensors = [weakref.ref(value) for value in inputs if isinstance(value, torch.Tensor)]
        return cls(_source(code), operations, _code=code, _tensors=tensors)

    def set_rewriting(self, rewriting: Rewriting) -> None:
        """Records the places where passes matched."""
        for rule in rewriting.passes:
            self.matches[rule.name] = self.matches.get(rule.name, 0) + rule.matches
            if not rule.matches:
                self.misses[rule.name] = _miss(rule.nearest)

    def is_of(self, model: Any) -> bool:
        """Returns whether the graph was captured from this model or function."""
        model = getattr(model, "_orig_mod", None) or getattr(model, "_torchdynamo_orig_callable", model)
        if isinstance(model, torch.nn.Module):
            owned = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
            if owned:
                return any((tensor := known()) is not None and id(tensor) in owned for known in self._tensors)
            model = type(model).forward
        return getattr(model, "__code__", None) is self._code

    def as_dict(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return {
            "source": self.source,
            "operations": self.operations,
            "not_authored": self.not_authored,
            "sizes": None if self.sizes is None else {**vars(self.sizes), "faults": sorted(self.sizes.faults)},
            "stages": [stage.as_dict() for stages in self.stages for stage in stages],
            "passes": [
                {
                    "name": name,
                    "matches": count,
                    "miss": self.misses.get(name),
                    "left_to_pytorch": [
                        {"kind": refusal.kind, "reason": refusal.reason, "calls": calls}
                        for refusal, calls in (self.refusals[name].counts.items() if name in self.refusals else ())
                    ],
                }
                for name, count in self.matches.items()
            ],
        }

    def lines(self) -> Iterable[str]:
        """Yields the lines of the report as text."""
        yield f"{self.source}: {self.operations} operation{'' if self.operations == 1 else 's'}"
        if self.not_authored:
            yield f"    the author wrote nothing: {self.not_authored}"
        if self.sizes is not None:
            yield f"    {self.sizes.compiled} sizes compiled, {self.sizes.left + self.sizes.first} calls of others left to PyTorch"
            for fault in sorted(self.sizes.faults):
                yield f"    PyTorch computes some sizes: {fault}"
        for stage in (stage for stages in self.stages for stage in stages):
            yield f"    {stage.name}: {sum(region.kept for region in stage.regions)} of {len(stage.regions)} regions kept"
            yield from (f"        {note}" for note in stage.notes)
        for name, count in self.matches.items():
            if not count:
                yield f"    {name}: no match; {self.misses[name]}"
                continue
            yield f"    {name}: {count} place{'s' if count > 1 else ''}"
            for refusal, calls in self.refusals[name].counts.items() if name in self.refusals else ():
                yield f"        {calls} call{'s' if calls > 1 else ''} left to PyTorch: {refusal.reason}"


class Report:
    """Report of the backend on the graphs of a model, or on all graphs of the process."""

    def __init__(self, graphs: Sequence[GraphReport]) -> None:
        self.graphs = list(graphs)

    def as_dict(self) -> dict[str, Any]:
        """Returns the report as plain data, for JSON."""
        return {"schema_version": 1, "graphs": [graph.as_dict() for graph in self.graphs]}

    def __repr__(self) -> str:
        if not self.graphs:
            return "no graph was captured by the backend `passnet`; call the compiled model first"
        return "\n".join(line for graph in self.graphs for line in graph.lines())


def _traced_code() -> types.CodeType | None:
    """Returns the code that Dynamo is capturing; None outside Dynamo, or if this version of Dynamo keeps the code elsewhere."""
    try:
        return InstructionTranslator.current_tx().output.root_tx.f_code
    except AttributeError:
        return None


def _source(code: types.CodeType | None) -> str:
    if code is None:
        return "a graph"
    name = getattr(code, "co_qualname", code.co_name)
    path = Path(code.co_filename)
    shown = os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
    return f"{name} ({shown}:{code.co_firstlineno})"


def _miss(nearest: dict[str, Any] | None) -> str:
    if nearest is None:
        return "nothing of the pattern is in the graph"
    progress = f"{nearest['matched']} of {nearest['total']} operations of the pattern"
    return f"{progress}, then the pattern has `{nearest['expected']}`, the graph `{nearest['found']}`"
