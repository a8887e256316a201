"""Builds a captured call that requires gradients: compiles forward and backward, and compares both together with PyTorch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.graph import Node, get_gradient_edge

from passnet._backend.cache import Store
from passnet._backend.compare import Inexact, difference
from passnet._backend.modes import ModesKept, keeps_modes
from passnet._backend.precision import is_as_precise
from passnet._backend.regions import fork_random
from passnet._backend.stages import Stages
from passnet._backend.stopwatch import compare_times
from passnet._compile.capture import Captured
from passnet._compile.options import Options
from passnet._compile.overlap import REASON, shares_written_memory
from passnet._compile.report import Specialisation, described
from passnet._passes.load import Pass
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
        return _with_state(run, captured.state), report
    try:
        step = _Step(captured)
        if not step.has_whole_result():
            report.left = "no result depends on all that require gradients, so some of them may get none"
            return _with_state(run, captured.state), report
        with ModesKept():
            compiled = stages.differentiable(captured.module, captured.example)
        if options.verify:
            fault = step.fault(compiled)
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
        message = str(error).splitlines() or [""]
        report.left = f"{type(error).__name__}: {message[0]}"
    if report.left is not None:
        for region in report.regions:
            region.kept, region.reason = False, "the gradients are left to PyTorch"
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


class _Step:
    """One forward and backward of a captured call, on copies of its tensors."""

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.weights: list[torch.Tensor] | None = None

    def take(self, run: Run, *, exact: bool = False) -> list[Any]:
        """Runs a step. Returns the results, the gradients of the arguments, and the arguments that were written to."""
        given = [self._argument(place, value, exact) for place, value in enumerate(self.captured.example)]
        # Each step begins with the same random numbers.
        with fork_random(given):
            results = list(run(*given))
            ends = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
            starts = [value for value in given if value.requires_grad]
            gradients = torch.autograd.grad(ends, starts, self._weights(ends), allow_unused=True)
        written = [given[place].detach() for place in sorted(self.captured.mutated)]
        return [*(_detached(value) for value in results), *gradients, *written]

    def has_whole_result(self) -> bool:
        """Returns whether one result depends on all arguments that require gradients and that any result depends on.

        Compiled code computes the gradients of all these arguments in each step. If a step uses only other results, it gets zeros for
        arguments that the used results do not depend on, where PyTorch leaves `grad` as it is. A loss usually depends on all.
        """
        given = [self._argument(place, value, False) for place, value in enumerate(self.captured.example)]
        starts = {get_gradient_edge(value).node for value in given if value.requires_grad}
        with fork_random(given):
            results = self.captured.module.forward(*given)
        ends = [value.grad_fn for value in results if isinstance(value, torch.Tensor) and value.grad_fn is not None]
        reached = [_nodes_before(end) & starts for end in ends]
        return set().union(*reached) in reached or not reached

    def fault(self, run: Run) -> str | None:
        """Returns the difference between a step of this function and a step of PyTorch; None if there is none."""
        plain = self.captured.module.forward
        theirs = self.take(plain)
        ours = self.take(run)
        if (reason := difference(ours, theirs, ())) is None:
            return None
        if not isinstance(reason, Inexact):
            return reason
        try:
            exact = self.take(plain, exact=True)
        except Exception:  # An operator may raise any exception for a dtype that it does not support.
            return reason
        return None if is_as_precise(ours, theirs, exact) else reason

    def _argument(self, place: int, value: torch.Tensor, exact: bool) -> torch.Tensor:
        own = value.detach()
        if exact and own.dtype.is_floating_point:
            own = own.double()
        if place in self.captured.mutated:
            own = own.clone()
        return own.requires_grad_(value.requires_grad)

    def _weights(self, ends: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns gradients of the results. They are the same in all steps."""
        if self.weights is None:
            self.weights = [torch.randn_like(value) for value in ends]
        return [weight.to(value.dtype) for weight, value in zip(self.weights, ends, strict=True)]


def _nodes_before(end: Node) -> set[Node]:
    """Returns the nodes of the autograd graph that a gradient reaches from a node, with the node itself."""
    found, waiting = {end}, [end]
    while waiting:
        fresh = {node for node, _ in waiting.pop().next_functions if node is not None} - found
        found |= fresh
        waiting += fresh
    return found


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value
