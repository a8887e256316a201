"""Builds a captured call that requires gradients: compiles forward and backward, and compares both together with PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.graph import Node, get_gradient_edge

from passnet._backend.cache import Store
from passnet._backend.modes import ModesKept, keeps_modes
from passnet._backend.regions import fork_random
from passnet._backend.saved_tensors import without_hooks
from passnet._backend.sharing import SPLITS, splits_written_input
from passnet._backend.stages import Stages
from passnet._backend.step import Step
from passnet._backend.stopwatch import compare_times
from passnet._compile.capture import Captured
from passnet._compile.options import Options
from passnet._compile.overlap import REASON, shares_written_memory
from passnet._compile.report import Specialisation, described
from passnet._passes.load import Pass
from passnet._summary import summary
from passnet.kernels._errors import is_fatal

Run = Callable[..., Sequence[Any]]


def build_training(
    captured: Captured, known: Sequence[Pass], options: Options, store: Store
) -> tuple[Run, Specialisation]:
    """Builds the call with compiled gradients. If they are wrong or a step is slower, uses the captured graph with PyTorch's gradients."""
    started = time.perf_counter()
    operations = sum(node.op not in ("placeholder", "output", "get_attr") for node in captured.module.graph.nodes)
    report = Specialisation([described(tensor) for tensor in captured.inputs], operations, 0.0, trains=True)
    stages = Stages(known, store, author=options.author is not None, verify=options.verify)
    plain: Run = keeps_modes(captured.module.forward, captured.module.graph)
    run = plain
    if shares_written_memory(captured):
        report.left = REASON
    elif splits_written_input(captured.module.graph):
        report.left = SPLITS
    if report.left:
        return _with_state(run, captured.state), report
    try:
        step = Step(captured.example, captured.mutated)
        if not _has_whole_result(captured.module, step):
            report.left = "no result depends on all that require gradients, so some of them may get none"
            return _with_state(run, captured.state), report
        with ModesKept():
            compiled = stages.differentiable(captured.module, captured.example)
        if options.verify:
            fault = step.fault(captured.module.forward, compiled)
            _describe(stages, report)
            if fault is not None:
                report.left = f"a step gives another result: {fault}"
            else:
                times = compare_times(lambda: step.take(plain), lambda: step.take(compiled), captured.example[0].device)
                report.eager_ns, report.fused_ns = times.eager_ns, times.fused_ns
                if times.loses:
                    report.left = "a step is slower with compiled gradients"
                else:
                    run = compiled
        else:
            run = compiled
    except Exception as error:
        if is_fatal(error):
            raise
        report.left = summary(error)
    if report.left is not None:
        stages.leave("the gradients are left to PyTorch")
    report.compile_s = time.perf_counter() - started
    return _with_state(run, captured.state), report


def _describe(stages: Stages, report: Specialisation) -> None:
    for stage in stages.reports:
        for region in stage.regions:
            region.rule = f"{stage.name}:{region.rule}"
        report.regions += stage.regions
        report.notes += [f"{stage.name}: {note}" for note in stage.notes]


def _with_state(run: Run, state: Sequence[torch.Tensor]) -> Run:
    held = tuple(state)
    return lambda *inputs: run(*inputs, *held)


def _has_whole_result(module: torch.fx.GraphModule, step: Step) -> bool:
    """Returns whether one result depends on all arguments that require gradients and that any result depends on.

    Compiled code computes the gradients of all these arguments in each step. If a step uses only other results, it gets zeros for
    arguments that the used results do not depend on, where PyTorch leaves `grad` as it is. A loss usually depends on all.
    """
    given, leaves = step.arguments()
    starts = {get_gradient_edge(value).node for value in leaves}
    with without_hooks(), fork_random(given):
        results = module.forward(*given)
    ends = [value.grad_fn for value in results if isinstance(value, torch.Tensor) and value.grad_fn is not None]
    reached = [_nodes_before(end) & starts for end in ends]
    return set().union(*reached) in reached or not reached


def _nodes_before(end: Node) -> set[Node]:
    """Returns the nodes of the autograd graph that a gradient reaches from a node, with the node itself."""
    found, waiting = {end}, [end]
    while waiting:
        fresh = {node for node, _ in waiting.pop().next_functions if node is not None} - found
        found |= fresh
        waiting += fresh
    return found
