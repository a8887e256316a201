"""Regions of a graph that passes have rewritten: comparison with PyTorch and timing on real values, and removal of those that
are wrong or lose.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from passnet._backend.compare import Inexact, difference, other_sharing
from passnet._backend.effects import effects_of
from passnet._backend.fallback import Refusals, bound_replacement
from passnet._backend.precision import copies, exact_results, is_as_precise
from passnet._backend.sharing import escape_together
from passnet._backend.stopwatch import compare_times
from passnet._backend.types import device_of, typed_pattern
from passnet._passes.load import Pass
from passnet._passes.rewrite import only_result
from passnet.kernels._errors import is_fatal


@dataclass
class Region:
    """A place where a pass replaces operations, and what was found out about it."""

    rule: str
    operations: int
    kept: bool = True
    reason: str = "not measured"
    eager_ns: float = math.nan
    fused_ns: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """The region as plain data; times that were not measured are null."""
        times = {name: None if math.isnan(getattr(self, name)) else getattr(self, name) for name in _TIMES}
        return {"rule": self.rule, "operations": self.operations, "kept": self.kept, "reason": self.reason, **times}


_TIMES = ("eager_ns", "fused_ns")
_RANDOM = "its results depend on random numbers, or are not known beforehand"


def direct(rule: Pass) -> Pass:
    """Returns the pass with a replacement that takes the values of the pattern's parameters and checks nothing itself."""
    run = bound_replacement(rule)

    # A function of this module for each graph: FX calls it by its name, and its sites are found by it.
    def replacement(*values: Any) -> Any:
        return run(*values)

    made = dataclasses.replace(rule, replacement=replacement, replacement_args=lambda *values: values)
    vars(made).update(canonical=rule.canonical, origin=rule)
    return made


def regions_of(graph: torch.fx.Graph, passes: Sequence[Pass]) -> dict[torch.fx.Node, Pass]:
    """The calls of replacements in a graph."""
    rules = {rule.replacement: rule for rule in passes}
    return {
        node: rules[node.target] for node in graph.nodes if node.op == "call_function" and _known(node.target, rules)
    }


def _known(target: Any, rules: dict[Any, Pass]) -> bool:
    try:
        return target in rules
    except TypeError:
        return False


class Judge(torch.fx.Interpreter):
    """Runs a rewritten graph on real values, and decides about each region: kept, or not and why."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        passes: Sequence[Pass],
        *,
        timed: bool = True,
        aliases: bool = True,
        graphed: bool = False,
    ) -> None:
        super().__init__(module)
        # Whether the graph becomes a CUDA graph, so that only the device's time counts.
        self.graphed = graphed
        self.sites = regions_of(module.graph, passes)
        self.timed = timed
        # AOTAutograd itself restores which results of a graph share memory.
        self.aliases = aliases
        self.regions: dict[torch.fx.Node, Region] = {}
        self.lost: dict[str, torch.fx.Graph] = {}
        """Patterns of passes that are wrong or slow, by name, with the types of one such place."""
        self._known: dict[tuple, Region] = {}

    def run(self, *values: Any, **options: Any) -> Any:
        self._given = _storages(values)
        return super().run(*values, **options)

    def run_node(self, node: torch.fx.Node) -> Any:
        rule = self.sites.get(node)
        if rule is None:
            return super().run_node(node)
        values, _ = self.fetch_args_kwargs_from_env(node)
        region = self._region(rule, values, self.aliases and escape_together(node), self._unseen(node))
        self.regions[node] = region
        return rule.replacement(*values) if region.kept else _pattern(rule)(*values)

    def _unseen(self, node: torch.fx.Node) -> frozenset[int]:
        """Positions of arguments that nothing reads after this call. Writes to them do not matter, as after an in-place ReLU."""
        last = self.user_to_last_uses.get(node, [])
        others = [value for known, value in self.env.items() if known not in last]
        seen = self._given | _storages(others)
        return frozenset(
            place
            for place, argument in enumerate(node.args)
            if argument in last and not _storages([self.env[argument]]) & seen
        )

    def _region(self, rule: Pass, values: Sequence[Any], escapes: bool, unseen: frozenset[int]) -> Region:
        # Layers of a model repeat: one judgement for all places of one rule with values of one kind.
        # The values by which results are compared are part of the key, because they change the judgement.
        key = rule.replacement, escapes, unseen, *(kind_of(value) for value in values)
        if key not in self._known:
            region = Region(rule.name, _operations(rule))
            self._decide(rule, values, region, escapes, unseen)
            self._known[key] = region
            if not region.kept and region.reason != _RANDOM and rule.name not in self.lost:
                self.lost[rule.name] = typed_pattern(rule.pattern, copies(values))
        return dataclasses.replace(self._known[key])

    def _decide(self, rule: Pass, values: Sequence[Any], region: Region, escapes: bool, unseen: frozenset[int]) -> None:
        if any(map(_is_lazy, values)):
            region.kept, region.reason = False, "one of its tensors is a lazily conjugated or negated view"
            return
        pattern = _pattern(rule)
        effects = effects_of(pattern, values)
        if effects is None or effects.is_random:
            region.kept, region.reason = False, _RANDOM
            return
        refusals: Refusals | None = getattr(rule, "refusals", None)
        before = dict(refusals.counts) if refusals is not None else {}
        try:
            fault = _fault(rule, pattern, values, escapes, unseen)
        except Exception as error:
            if is_fatal(error):
                raise
            fault = f"its replacement refuses the arguments: {error}"
        if fault is None and refusals is not None:
            # Such a call has PyTorch's own results.
            left = [refusal.reason for refusal, count in refusals.counts.items() if count > before.get(refusal, 0)]
            fault = f"its calls are left to PyTorch: {left[0]}" if left else None
        if fault is not None:
            region.kept, region.reason = False, fault
            return
        region.reason = "equal to PyTorch"
        if self.timed:
            # Calls that write change their arguments with every repetition; each side gets its own.
            eager, fused = (copies(values) if effects.mutated else values for _ in range(2))
            sides = (lambda: pattern(*eager)), (lambda: rule.replacement(*fused))
            times = compare_times(*sides, device_of(values), graphed=self.graphed)
            region.eager_ns, region.fused_ns = times.eager_ns, times.fused_ns
            if times.loses:
                region.kept, region.reason = False, "slower than PyTorch"


def drop(graph: torch.fx.Graph, node: torch.fx.Node, rule: Pass) -> None:
    """Puts the operations of a pattern where the graph calls its replacement."""
    placeholders = [part for part in rule.pattern.nodes if part.op == "placeholder"]
    bound: dict[torch.fx.Node, Any] = dict(zip(placeholders, node.args, strict=True))
    with graph.inserting_before(node):
        results = graph.graph_copy(rule.pattern, bound)
    if not rule.returns_sequence:
        node.replace_all_uses_with(results)
    else:
        parts = list(results) if isinstance(results, (tuple, list)) else [results]
        for user in list(node.users):
            # Either `getitem(call, place)` or `only_result(call)`.
            user.replace_all_uses_with(parts[0 if user.target is only_result else user.args[1]])
            graph.erase_node(user)
    graph.erase_node(node)


def _pattern(rule: Pass) -> Callable[..., Any]:
    return torch.fx.GraphModule({}, rule.pattern).forward


def _operations(rule: Pass) -> int:
    return sum(node.op not in ("placeholder", "output") for node in rule.pattern.nodes)


def kind_of(value: Any) -> Any:
    """The facts that a judgement of a value depends on: the type of a tensor, or another value itself."""
    if isinstance(value, torch.Tensor):
        kind = value.dtype, value.device, tuple(value.shape), value.stride(), value.is_inference()
        return *kind, _is_lazy(value)
    return type(value), repr(value)


def _is_lazy(value: Any) -> bool:
    """Returns whether the memory of a tensor has other values than the tensor. Copies have their own values, so that comparing with
    them does not show it."""
    return isinstance(value, torch.Tensor) and (value.is_conj() or value.is_neg())


def _storages(values: Any) -> set[int]:
    """The memory of all tensors within values."""
    leaves = torch.utils._pytree.tree_leaves(values)
    return {leaf.untyped_storage()._cdata for leaf in leaves if isinstance(leaf, torch.Tensor)}


def _fault(
    rule: Pass, pattern: Callable[..., Any], values: Sequence[Any], escapes: bool, unseen: frozenset[int]
) -> str | None:
    """The difference between a replacement and its pattern; None if there is none.

    If several results escape, they have to share memory with each other as the pattern's do. The arguments are compared afterwards too: neither may write to what the other does not.
    """
    eager, fused = copies(values), copies(values)
    read = [place for place in range(len(values)) if place not in unseen]
    theirs = pattern(*eager), *(eager[place] for place in read)
    ours = rule.replacement(*fused), *(fused[place] for place in read)
    if (reason := _difference(ours, theirs, eager, fused, escapes)) is None:
        return None
    exact = exact_results(pattern, values) if isinstance(reason, Inexact) else None
    if exact is not None:
        exact = exact[0], *(exact[1 + place] for place in read)
    return (
        None if exact is not None and is_as_precise(ours, theirs, exact) else f"its result is not PyTorch's: {reason}"
    )


def difference_of(
    run: Callable[..., Any], plain: Callable[..., Any], values: Sequence[Any], *, aliases: bool = True
) -> str | None:
    """The difference between two functions of these values, each with copies and the same random numbers; None if there is none.

    With `aliases` results have to share memory with each other in the same way.
    """
    results = []
    for function in (plain, run):
        with fork_random(values):
            results.append(tuple(function(*copies(values))))
    theirs, ours = results
    reason = difference(ours, theirs, ())
    if aliases and (reason is None or isinstance(reason, Inexact)):
        reason = other_sharing(ours, theirs) or reason
    if reason is None:
        return None
    exact = exact_results(plain, values) if isinstance(reason, Inexact) else None
    return None if exact is not None and is_as_precise(ours, theirs, tuple(exact[0])) else reason


@contextlib.contextmanager
def fork_random(values: Sequence[Any]) -> Iterator[None]:
    """Later random numbers are the same as without it."""
    devices = {
        value.device.index for value in values if isinstance(value, torch.Tensor) and value.device.type == "cuda"
    }
    with torch.random.fork_rng(devices=[device for device in devices if device is not None]):
        yield


def _difference(ours: Any, theirs: Any, eager: Sequence[Any], fused: Sequence[Any], escapes: bool) -> str | None:
    # The arguments come after the results, and may of course be in their own memory.
    reasons = [
        other_sharing(ours[0], theirs[0]) if escapes else None,
        difference(ours[0], theirs[0], [*eager, *fused]),
        difference(ours[1:], theirs[1:], ()),
    ]
    # Different values may be the more precise ones, so any other kind of difference comes first.
    found = [reason for reason in reasons if reason is not None]
    return min(found, key=lambda reason: isinstance(reason, Inexact), default=None)
