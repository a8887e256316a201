"""Times of whole graphs: the captured graph against the rewritten one, and that against its CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.fx

from passnet._backend.contents import text_of_graph
from passnet._backend.kinds import kinds_of
from passnet._backend.stopwatch import compare_times
from passnet._backend.timings import Timings
from passnet._backend.types import device_of
from passnet._compile.capture import Captured
from passnet._compile.graphs import GraphedCall
from passnet._compile.report import Specialisation
from passnet._passes.load import Pass

Graph = torch.fx.GraphModule


def faster(
    plain: Graph,
    fused: Graph,
    used: Sequence[Pass],
    captured: Captured,
    example: Sequence[torch.Tensor],
    report: Specialisation,
    timings: Timings,
) -> Graph:
    """Times the captured and the rewritten graph, and returns the faster one."""
    sides = [captured.repeatable(module.forward, example) for module in (plain, fused)]
    texts = "graphs", text_of_graph(plain), text_of_graph(fused, used), _kinds(captured, example)
    times = timings.compare(texts, lambda: compare_times(*sides, device_of(example), graphed=timings.graphed))
    report.eager_ns, report.fused_ns = times.eager_ns, times.fused_ns
    if not times.loses:
        return fused
    report.notes.append("the rewritten graph is slower than the captured one, which runs instead")
    for region in report.regions:
        region.kept, region.reason = False, "the whole graph is slower with the passes"
    return plain


def graph_wins(
    graphed: GraphedCall,
    run: Callable[..., Sequence[Any]],
    text: str | None,
    captured: Captured,
    example: Sequence[torch.Tensor],
    timings: Timings,
) -> bool:
    """Returns whether a CUDA graph is not slower than the function that it records. `text` defines what this function computes."""

    def by_graph(*values: torch.Tensor) -> Sequence[Any]:
        return graphed(*captured.split(values)[0])

    sides = [captured.repeatable(side, example) for side in (run, by_graph)]
    texts = "CUDA graph", text, _kinds(captured, example)
    return not timings.compare(texts, lambda: compare_times(*sides, device_of(example))).loses


def _kinds(captured: Captured, example: Sequence[torch.Tensor]) -> str:
    """Returns the types of the arguments of a graph as text, and the positions of those that each timed call sets back."""
    return f"{kinds_of(example)} {len(captured.used)} {sorted(captured.counters)}"
