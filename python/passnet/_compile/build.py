"""Builds the function that runs a captured call: passes, verification, CUDA graph."""

from __future__ import annotations

import copy
import functools
import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
import torch.fx

from passnet._backend.ahead import compile_ahead
from passnet._backend.author import NotAuthoredError, author_parts, author_passes
from passnet._backend.cache import Store
from passnet._backend.contents import author_of_pass, text_of_graph
from passnet._backend.fallback import Refusals, with_fallback
from passnet._backend.inductor import compile_rest
from passnet._backend.modes import in_other_modes
from passnet._backend.regions import (
    Judge,
    Region,
    call_directly,
    call_with_way_back,
    difference_of,
    direct,
    drop,
    drop_omitted,
    regions_of,
)
from passnet._backend.sharing import left_to_pytorch, may_share_results
from passnet._backend.stopwatch import compare_times
from passnet._backend.timings import Timings
from passnet._backend.types import device_of
from passnet._compile.capture import Captured
from passnet._compile.channels import channels_last
from passnet._compile.constants import fold_constants, fold_tables
from passnet._compile.decompose import decompose
from passnet._compile.freeze import freeze
from passnet._compile.graphs import GraphedCall, NotGraphedError, Pool, refusal, unused_draws
from passnet._compile.options import Options
from passnet._compile.overlap import REASON, shares_written_memory
from passnet._compile.report import Specialisation, described
from passnet._compile.rest import Rest, rest_of
from passnet._compile.strides import note_strides
from passnet._compile.whole import faster, graph_wins
from passnet._passes.load import Pass
from passnet._passes.rewrite import rewrite
from passnet._summary import summary
from passnet.kernels._errors import is_fatal

Run = Callable[..., Sequence[Any]]


class Built:
    """A captured call that is ready to run: `run` takes the inputs that the graph uses."""

    def __init__(self, run: Run, report: Specialisation, graphed: GraphedCall | None) -> None:
        self.run = run
        self.report = report
        self.graphed = graphed

    def reset(self) -> None:
        """Releases the device memory of the call."""
        if self.graphed is not None:
            self.graphed.reset()

    def release(self, model: Run) -> None:
        """Releases all that was built, because the model itself runs the calls."""
        self.reset()
        self.run, self.graphed = model, None


def build(captured: Captured, known: Sequence[Pass], options: Options, store: Store, pool: Pool | None) -> Built:
    """Rewrites, verifies and records a captured call. `pool` is the memory for a CUDA graph; None if no CUDA graph is wanted."""
    started = time.perf_counter()
    report = Specialisation([described(tensor) for tensor in captured.inputs], _operations(captured.module), 0.0)
    if shares_written_memory(captured):
        report.notes.append(f"PyTorch runs the graph: {REASON}")
        return Built(_with_state(captured.module.forward, captured.state), report, None)
    # `passnet optimize` reports times, which are then measured by this process.
    timings = Timings(None if options.times_rest else store, device_of(captured.example))
    _prepare(captured, known, options, report, timings, may_graph=pool is not None)
    module = captured.module
    # Kept unchanged. The rewritten graph is compared with it, and it runs if the rewritten graph is slower.
    plain = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    # A kernel cannot write two results into the same memory, so such results stay views that PyTorch makes.
    views = left_to_pytorch(module.graph)
    with captured.undisturbed() as example:
        note_strides(module, example)
    with captured.undisturbed() as example:
        used = [_usable(rule, captured, options, warns=True) for rule in known]
        _apply(module, used, report)
        if options.verify and options.author is not None:
            if count := decompose(module, example, timings):
                report.notes.append(
                    f"{count} calls of libraries run in parts, which kernels of the author may take over"
                )
            captured.rewind(example)
        used += _rewrite(captured, used, views, options, store, report)
        if options.verify and used:
            captured.rewind(example)
            lost = _verify(module, used, example, report, timings)
            if lost and options.author is not None:
                captured.rewind(example)
                used += _in_parts(lost, captured, example, options, store, report, timings)
            if any(region.kept for region in report.regions):
                module = faster(plain, module, used, captured, example, report, timings)
        if options.times_rest:
            captured.rewind(example)
            report.rest = _timed_rest(module, used, example, report, graphed=timings.graphed)
            started += report.rest.seconds
        if captured.mutated:
            call_with_way_back(module, used, lambda rule: Refusals(rule.name, warns=_is_one_of(rule, known)))
        else:
            call_directly(module, used)
        run: Run = module.forward
        if options.then is not None:
            run = _rest(plain, run, used, captured, example, options, report)
        graphed = None
        if pool is not None:
            text = text_of_graph(module, used) if options.then is None else None
            graphed = _graphed(captured, run, text, pool, options, example, report, timings)
    for node in (*module.graph.nodes, *plain.graph.nodes):
        # Removes the noted types of values, which only compilation needs.
        node.meta.clear()
    if timings.stored:
        report.notes.append(f"{timings.stored} comparisons of times are from the cache")
    report.compile_s += time.perf_counter() - started
    return Built(graphed or _with_state(run, captured.state), report, graphed)


def _operations(module: torch.fx.GraphModule) -> int:
    return sum(node.op not in ("placeholder", "output", "get_attr") for node in module.graph.nodes)


def _prepare(
    captured: Captured,
    known: Sequence[Pass],
    options: Options,
    report: Specialisation,
    timings: Timings,
    *,
    may_graph: bool,
) -> None:
    """Folds constants and chooses the layout of images. Notes in `timings` whether the call can become a CUDA graph."""
    with captured.undisturbed() as example:
        if options.freeze:
            report.notes.append(fold_constants(captured, example))
        else:
            report.notes += filter(None, [fold_tables(captured, example)])
    if options.freeze:
        report.notes.append(freeze(captured, captured.example))
    # If the call becomes a CUDA graph, the host's share of its time does not count. A table in host memory prevents that only as long as
    # it is not folded.
    timings.graphed = may_graph and refusal(captured) is None
    with captured.undisturbed() as example:
        if options.freeze:
            report.notes.append(channels_last(captured, example, timings, frozen=True))
        elif options.verify and options.author is not None and not known and options.then is None:
            report.notes += _lay_out(captured, example, timings)


def _lay_out(captured: Captured, example: Sequence[torch.Tensor], timings: Timings) -> list[str]:
    """Places channels innermost if that is faster, with the time to copy the weights in each call. Returns notes for the report."""
    before = captured.module
    note = channels_last(captured, example, timings, frozen=False)
    return [note] if captured.module is not before else []


def _rewrite(
    captured: Captured,
    known: Sequence[Pass],
    views: Collection[torch.fx.Node],
    options: Options,
    store: Store,
    report: Specialisation,
) -> list[Pass]:
    """Lets the author write passes for the operations that known passes left, and applies these. Returns the author's passes."""
    module = captured.module
    used: list[Pass] = []
    if options.author is not None:
        try:
            written = author_passes(module.graph, store, judged="whole" if options.verify else "", left=views)
        except NotAuthoredError as error:
            report.notes.append(f"the author wrote nothing: {error}")
        else:
            used = [_usable(rule, captured, options, warns=False) for rule in written.passes]
            _apply(module, used, report)
            report.notes += written.faults
            report.texts = written.texts
    if not options.verify:
        with compile_ahead(module, used) as compiled:
            compiled.wait()
        drop_omitted(module, [*known, *used])
        _drop_shared(module, [*known, *used])
        report.regions = [
            Region(rule.name, 0, author=author_of_pass(rule))
            for rule in regions_of(module.graph, [*known, *used]).values()
        ]
    return used


def _drop_shared(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> None:
    """Leaves regions to PyTorch if their results share memory with each other, because nothing compares them later."""
    for node, rule in regions_of(module.graph, passes).items():
        if may_share_results(node, rule):
            drop(module.graph, node, rule)
    module.recompile()


def _usable(rule: Pass, captured: Captured, options: Options, *, warns: bool) -> Pass:
    # Without verification nothing has compared the regions, so regions of graphs that write to arguments are checked in each call: a
    # call that fails after a write cannot be computed again.
    if captured.mutated and not options.verify:
        return with_fallback(rule, Refusals(rule.name, warns=warns), verify=False)
    return direct(rule)


def _is_one_of(rule: Pass, passes: Sequence[Pass]) -> bool:
    return any(rule is other for other in passes)


def _apply(module: torch.fx.GraphModule, passes: Sequence[Pass], report: Specialisation) -> None:
    if passes:
        rewrite(module, passes, report.notes)
        _drop_in_other_modes(module, passes)


def _verify(
    module: torch.fx.GraphModule,
    passes: Sequence[Pass],
    example: Sequence[torch.Tensor],
    report: Specialisation,
    timings: Timings,
) -> dict[str, torch.fx.Graph]:
    """Leaves wrong or slow regions to PyTorch. Returns the patterns of their passes by name."""
    with compile_ahead(module, passes) as compiled:
        if not timings.graphed:
            # The times include those of the host, which the compilations would disturb.
            compiled.wait()
        judge = Judge(module, passes, graphed=timings.graphed, ready=compiled.wait_for, timings=timings)
        judge.run(*example)
    for node, region in judge.regions.items():
        report.regions.append(region)
        if not region.kept:
            drop(module.graph, node, judge.sites[node])
    if not all(region.kept for region in judge.regions.values()):
        module.graph.lint()
        module.recompile()
    return judge.lost


def _in_parts(
    lost: dict[str, torch.fx.Graph],
    captured: Captured,
    example: Sequence[torch.Tensor],
    options: Options,
    store: Store,
    report: Specialisation,
    timings: Timings,
) -> list[Pass]:
    """Rewrites parts of the regions that were left to PyTorch as a whole. Returns the passes."""
    used = []
    for written in author_parts(lost, store):
        authored = [_usable(rule, captured, options, warns=False) for rule in written.passes]
        _apply(captured.module, authored, report)
        used += authored
        report.texts |= written.texts
    if used:
        _verify(captured.module, used, example, report, timings)
    return used


def _timed_rest(
    module: torch.fx.GraphModule,
    used: Sequence[Pass],
    example: Sequence[torch.Tensor],
    report: Specialisation,
    *,
    graphed: bool,
) -> Rest:
    """Times the operations that no region replaces."""
    times = (region.fused_ns for region in report.regions if region.kept and not math.isnan(region.fused_ns))
    with torch.no_grad():
        return rest_of(module, regions_of(module.graph, used), sum(times), example, graphed=graphed)


def _rest(
    plain: torch.fx.GraphModule,
    run: Run,
    used: Sequence[Pass],
    captured: Captured,
    example: Sequence[torch.Tensor],
    options: Options,
    report: Specialisation,
) -> Run:
    """Returns the graph with the kept passes and the rest compiled by TorchInductor; `run` if that is wrong or slower."""
    left = {region.rule for region in report.regions if not region.kept}
    passes = [rule for rule in used if rule.name not in left]
    if captured.mutated and options.verify:
        # TorchInductor calls the functions of the passes, so these need the way back themselves.
        passes = [with_fallback(vars(rule)["origin"], Refusals(rule.name, warns=False)) for rule in passes]
    try:
        compiled, places = compile_rest(plain, example, passes)
        captured.rewind(example)
        fault = difference_of(compiled, plain.forward, example) if options.verify else None
    except Exception as error:
        if is_fatal(error):
            raise
        report.notes.append(f"TorchInductor compiles nothing: {summary(error)}")
        return run
    if fault is not None:
        report.notes.append(f"TorchInductor's code for the rest is not used: {fault}")
        return run
    if options.verify:
        times = compare_times(
            captured.repeatable(run, example), captured.repeatable(compiled, example), device_of(example)
        )
        if times.loses:
            report.notes.append("TorchInductor's code for the rest is not used: it is slower")
            return run
        report.fused_ns = times.fused_ns
        report.eager_ns = report.eager_ns or times.eager_ns
    report.notes.append(f"TorchInductor compiles what {places} regions leave")
    return compiled


def _graphed(
    captured: Captured,
    run: Run,
    text: str | None,
    pool: Pool,
    options: Options,
    example: Sequence[torch.Tensor],
    report: Specialisation,
    timings: Timings,
) -> GraphedCall | None:
    reason = refusal(captured)
    if reason is None:
        try:
            # The recording uses copies of the tensors that the call writes to.
            captured.rewind(example)
            nodes = unused_draws(captured.module.graph)
            draws = [functools.partial(node.target, *node.args, **node.kwargs) for node in nodes]
            trial = GraphedCall.recorded(run, *captured.split(example), pool, captured.mutated, draws)
        except NotGraphedError as error:
            reason = str(error)
        else:
            if options.cuda_graphs is True or graph_wins(trial, run, text, captured, example, timings):
                report.cuda_graph = "on"
                if not captured.mutated:
                    return trial
                trial.reset()
                return GraphedCall(run, captured.state, pool, captured.mutated, draws)
            trial.reset()
            reason = "it is not faster"
    report.cuda_graph = f"refused: {reason}"
    return None


def _with_state(forward: Run, state: Sequence[torch.Tensor]) -> Run:
    held = tuple(state)
    if not held:
        return forward

    def run(*inputs: Any) -> Sequence[Any]:
        return forward(*inputs, *held)

    return run


def _drop_in_other_modes(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> None:
    """Leaves regions to PyTorch where a graph without gradients has a mode of its own, such as `vmap`: a kernel does not see the mode."""
    # If the caller has enabled gradients, no value of the graph needs one.
    inside = in_other_modes(module.graph, gradients=not torch.is_grad_enabled())
    lost = [(node, rule) for node, rule in regions_of(module.graph, passes).items() if node in inside]
    for node, rule in lost:
        drop(module.graph, node, rule)
    if lost:
        module.recompile()
