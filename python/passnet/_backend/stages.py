"""Stages of a model in training, forward and backward: graphs of AOTAutograd, rewritten by passes and by the author.

AOTAutograd gives both graphs before there are values. A stage is compiled at its first call. Candidates are compared and timed on the
values of that call.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._functorch.aot_autograd import aot_module_simplified
from torch._functorch.partitioners import default_partition

from passnet._backend.ahead import compile_ahead
from passnet._backend.aten import ALL, POINTWISE, formulas, in_torch
from passnet._backend.author import NotAuthoredError, author_parts, author_passes
from passnet._backend.cache import Store
from passnet._backend.compare import other_kinds
from passnet._backend.fallback import Refusals
from passnet._backend.modes import enters_inference_mode
from passnet._backend.precision import copies
from passnet._backend.process_lock import compiling
from passnet._backend.regions import (
    Judge,
    Region,
    call_with_way_back,
    difference_of,
    direct,
    drop,
    fork_random,
    regions_of,
)
from passnet._backend.sharing import left_to_pytorch, without_idle_dropouts
from passnet._backend.stopwatch import compare_times
from passnet._backend.types import device_of
from passnet._passes.errors import PassError
from passnet._passes.load import Pass
from passnet._passes.rewrite import rewrite
from passnet.kernels._errors import is_fatal

# Modules in which PyTorch decides which saved tensors a backward may overwrite: the first since PyTorch 2.9, the second before.
_LOWERING = [f"torch._functorch._aot_autograd.{name}" for name in ("graph_compile", "jit_compile_runtime_wrappers")]
_COLLECT = "collect_bw_donated_buffer_idxs"

# A function that takes a list of its arguments and empties the list, so that saved tensors are freed after their last use.
Run = Callable[[list[Any]], Sequence[Any]]


class _Boxed(torch.fx.graph.CodeGen):
    """Generates the code of a graph as a function of one list."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, **_: Any) -> str:
        names = [name.split(":")[0].split("=")[0].strip() for name in free_vars if name != "self"]
        lines = [f"def {self._func_name}(self, given){maybe_return_annotation}:"]
        if names:
            lines += [f"    {', '.join(names)}, = given", "    given.clear()"]
        return "\n".join(lines)


def boxed(module: torch.fx.GraphModule) -> Run:
    """Returns the graph as a function of a list of its arguments."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    graph.set_codegen(_Boxed())
    return torch.fx.GraphModule(module, graph).forward


@dataclass
class StageReport:
    """The outcome of the compilation of a stage."""

    name: str
    """`forward` or `backward`."""
    regions: list[Region] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return {"name": self.name, "regions": [region.as_dict() for region in self.regions], "notes": list(self.notes)}


@dataclass
class Stages:
    """The stages of one captured call, and the options of their compilation."""

    known: Sequence[Pass]
    store: Store
    author: bool = True
    verify: bool = True
    reports: list[StageReport] = field(default_factory=list)

    def differentiable(self, module: torch.fx.GraphModule, example: Sequence[Any]) -> Callable[..., Any]:
        """Returns the graph as a function whose results have gradients. Compiled stages compute results and gradients."""
        if enters_inference_mode(module.graph):
            # AOTAutograd fails, and all later calls of the thread with it: PyTorch's dispatcher is left in a wrong state.
            raise NotImplementedError("the code enters inference mode, where AOTAutograd fails")
        with compiling, _without_donated_buffers():
            return aot_module_simplified(
                without_idle_dropouts(module),
                list(example),
                fw_compiler=self._compiler("forward"),
                bw_compiler=self._compiler("backward"),
                inference_compiler=self._compiler("forward"),
                # Saves for the backward the same tensors as PyTorch. Which operations are fused is decided later, when there are values.
                partition_fn=default_partition,
                decompositions={},
            )

    def leave(self, reason: str) -> None:
        """Records that the compiled stages are not used."""
        for region in (region for report in self.reports for region in report.regions):
            region.kept, region.reason = False, reason

    def _compiler(self, name: str) -> Callable[[torch.fx.GraphModule, Sequence[Any]], Run]:
        def compile_stage(module: torch.fx.GraphModule, _example: Sequence[Any]) -> Run:
            report = StageReport(name)
            self.reports.append(report)
            own = torch.fx.GraphModule(module, module.graph)
            if name == "backward":
                without_unused(own)
            stage = Stage(own, self, report)
            return _untraced(stage) if name == "backward" else stage

        # In compiled code, a backward is compiled and called while Dynamo traces. Dynamo must not trace the compilation.
        return torch._dynamo.disable(compile_stage)


def _untraced(stage: Stage) -> Run:
    """Returns the stage as a function that Dynamo does not trace."""

    @torch._dynamo.disable
    def call(values: list[Any]) -> Sequence[Any]:
        return stage(values)

    vars(call)["_boxed_call"] = True
    return call


class Stage:
    """A graph of aten operators, called with a list of its arguments. It is compiled at its first call."""

    _boxed_call = True

    def __init__(self, module: torch.fx.GraphModule, options: Stages, report: StageReport) -> None:
        self.module = module
        self.options = options
        self.report = report
        self.run: Run | None = None

    def __call__(self, values: list[Any]) -> Sequence[Any]:
        run = self.run
        if run is None:
            # Several threads may make the first call at the same time. Only one of them may compile and report.
            with compiling:
                run = self.run = self.run or self._compiled(values)
        return run(values)

    def _compiled(self, values: Sequence[Any]) -> Run:
        plain = self.module
        best = boxed(plain)
        symbolic = any(not isinstance(node.meta.get("val"), torch.Tensor) for node in _placeholders(plain))
        if symbolic:
            self.report.notes.append("the author wrote nothing: sizes are symbolic")
            return best
        # Formulas of normalisations are worthwhile where launches are expensive. On a CPU PyTorch's own kernels are faster.
        tables = [POINTWISE] if device_of(values).type == "cpu" else [ALL, POINTWISE]
        if not self.options.verify:
            tables = tables[:1]
        with fork_random(values), torch.no_grad():
            chosen: _Candidate | None = None
            for table in tables:
                candidate = self._candidate(table, values, best)
                if candidate is not None:
                    chosen, best = candidate, candidate.run
        if chosen is not None:
            self.report.regions, self.report.texts = chosen.regions, chosen.texts
        return best

    def _candidate(self, table: dict[Any, Any], values: Sequence[Any], best: Run) -> _Candidate | None:
        """Returns the stage with these formulas written out; None if it is not faster than `best`."""
        try:
            candidate = _Candidate.of(self.module, table, self.options, values)
        except (NotAuthoredError, PassError) as error:
            self.report.notes.append(f"the author wrote nothing: {error}")
            return None
        except Exception as error:
            if is_fatal(error):
                raise
            # The caller runs the graph of PyTorch instead.
            self.report.notes.append(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            return None
        self.report.notes += [note for note in candidate.notes if note not in self.report.notes]
        if not any(region.kept for region in candidate.regions):
            return None
        # The backward was made for the strides that AOTAutograd recorded for the forward, so they must not change.
        if reason := _unlike(candidate.module, self.module):
            self.report.notes.append(f"a rewritten graph is not used: {reason}")
            return None
        compared = _compared(candidate.module)
        sides = [_only(module.forward, compared) for module in (candidate.module, self.module)]
        if self.options.verify:
            fault = difference_of(*sides, values, aliases=False)
        else:
            fault = other_kinds(*(side(*copies(values)) for side in sides))
        if fault:
            self.report.notes.append(f"a rewritten graph is not used: {fault}")
            return None
        if not self.options.verify:
            return candidate
        times = compare_times(lambda: best(list(values)), lambda: candidate.run(list(values)), device_of(values))
        return candidate if times.fused_ns < times.eager_ns else None


@dataclass
class _Candidate:
    """A stage as the author rewrote it."""

    module: torch.fx.GraphModule
    regions: list[Region]
    texts: dict[str, str]
    notes: list[str]

    @functools.cached_property
    def run(self) -> Run:
        """Returns the rewritten graph as a function of a list of its arguments."""
        return boxed(self.module)

    @classmethod
    def of(
        cls, module: torch.fx.GraphModule, table: dict[Any, Any], options: Stages, values: Sequence[Any]
    ) -> _Candidate:
        translated = in_torch(formulas(module, table))
        used = [direct(rule) for rule in options.known]
        rewrite(translated, used)
        texts: dict[str, str] = {}
        notes: list[str] = []
        if options.author:
            judged = "whole" if options.verify else ""
            left = left_to_pytorch(translated.graph)
            written = author_passes(translated.graph, options.store, judged=judged, left=left)
            authored = [direct(rule) for rule in written.passes]
            rewrite(translated, authored)
            used += authored
            texts, notes = written.texts, written.faults
        if not options.verify:
            regions = [Region(rule.name, 0) for rule in regions_of(translated.graph, used).values()]
            # The recorded strides of a value may not be those that PyTorch gives it, and its kernels are not written for others.
            known = [id(rule) for rule in options.known]
            call_with_way_back(translated, used, lambda rule: Refusals(rule.name, warns=id(rule) in known))
            return cls(translated, regions, texts, notes)
        regions, lost = _judged(translated, used, values)
        parts: list[Pass] = []
        for written in author_parts(lost, options.store) if options.author else []:
            authored = [direct(rule) for rule in written.passes]
            rewrite(translated, authored)
            parts += authored
            texts |= written.texts
        if parts:
            regions += _judged(translated, parts, values)[0]
        return cls(translated, regions, texts, notes)


def _judged(
    module: torch.fx.GraphModule, passes: Sequence[Pass], values: Sequence[Any]
) -> tuple[list[Region], dict[str, torch.fx.Graph]]:
    """Leaves wrong or slow regions to PyTorch. Returns all regions, and the patterns of the regions that are left to PyTorch."""
    with compile_ahead(module, passes) as compiled:
        # The times include those of the host, which the compilations would disturb.
        compiled.wait()
    judge = Judge(module, passes, aliases=False)
    judge.run(*values)
    for node, region in judge.regions.items():
        if not region.kept:
            drop(module.graph, node, judge.sites[node])
    module.graph.lint()
    module.recompile()
    return list(judge.regions.values()), judge.lost


@contextlib.contextmanager
def _without_donated_buffers() -> Iterator[None]:
    """A context in which AOTAutograd marks no saved tensor as memory that the backward may overwrite.

    With such marks, AOTAutograd refuses a second backward (`retain_graph`). Its option for them is read again when the backward
    runs, so it cannot be set for one function. The caller holds the lock of compilation, as other compilations by Dynamo do.
    """
    places = [module for name in _LOWERING if hasattr(module := sys.modules.get(name), _COLLECT)]
    saved = [getattr(module, _COLLECT) for module in places]
    for module in places:
        setattr(module, _COLLECT, lambda *_: [])
    try:
        yield
    finally:
        for module, function in zip(places, saved, strict=True):
            setattr(module, _COLLECT, function)


def without_unused(module: torch.fx.GraphModule) -> None:
    """Removes unused operations of a backward, also those that draw random numbers.

    The partition of forward and backward leaves copies of forward operators in the backward.
    """
    for node in reversed(module.graph.nodes):
        schema = getattr(node.target, "_schema", None)
        is_pure = node.target is operator.getitem or (schema is not None and not schema.is_mutable)
        if node.op == "call_function" and not node.users and is_pure:
            module.graph.erase_node(node)
    module.recompile()


def _placeholders(module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def _compared(module: torch.fx.GraphModule) -> list[int]:
    """Returns the positions of the results that are compared.

    The seeds that PyTorch's attention returns for its own backward are not compared: without dropout they are uninitialised memory.
    """
    outputs = list(module.graph.output_node().args[0])
    return [place for place, node in enumerate(outputs) if not _is_seed(node)]


def _is_seed(node: Any) -> bool:
    if not isinstance(node, torch.fx.Node) or node.target is not operator.getitem:
        return False
    value, source = node.meta.get("example_value"), node.args[0]
    is_whole = isinstance(value, torch.Tensor) and not value.dtype.is_floating_point
    return is_whole and isinstance(source, torch.fx.Node) and "attention" in str(source.target)


def _only(run: Callable[..., Sequence[Any]], places: Sequence[int]) -> Callable[..., Sequence[Any]]:
    """Returns the function with only the results at these positions."""

    def some(*values: Any) -> Sequence[Any]:
        results = run(*values)
        return tuple(results[place] for place in places)

    return some


def _unlike(module: torch.fx.GraphModule, plain: torch.fx.GraphModule) -> str | None:
    """Returns a difference in the types of the results of two graphs; None if there is none. The other stage relies on these types."""
    for ours, theirs in zip(_results(module, "example_value"), _results(plain, "val"), strict=True):
        if ours is None or theirs is None:
            continue
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape or ours.stride() != theirs.stride():
            return f"a result is {ours.dtype}{tuple(ours.shape)} with other strides than {theirs.dtype}{tuple(theirs.shape)}"
    return None


def _results(module: torch.fx.GraphModule, key: str) -> list[torch.Tensor | None]:
    outputs = module.graph.output_node().args[0]
    values = [node.meta.get(key) if isinstance(node, torch.fx.Node) else None for node in outputs]
    return [value if isinstance(value, torch.Tensor) else None for value in values]
