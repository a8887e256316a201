"""Regions of a graph that passes have rewritten. Each region is compared with PyTorch and timed on real values. Regions that are wrong or
slower are removed.
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

from passnet import _progress
from passnet._backend.binding import arguments_of, bound_replacement, unchecked_replacement
from passnet._backend.compare import Inexact, difference, other_sharing
from passnet._backend.contents import author_of_pass, text_of_pass
from passnet._backend.effects import Effects
from passnet._backend.fallback import Refusals, or_pattern, overlap
from passnet._backend.indices import has_unsafe_indices, is_on_device
from passnet._backend.kinds import is_lazy, kind_of, kinds_of
from passnet._backend.known_effects import known_effects
from passnet._backend.omitted import omitted_of
from passnet._backend.precision import copies, exact_results, is_as_precise
from passnet._backend.sharing import escape_together, memory_groups, memory_of, plain_tensor
from passnet._backend.stopwatch import Comparison, compare_times
from passnet._backend.timings import Timings
from passnet._backend.types import device_of, typed_pattern
from passnet._passes.load import Pass
from passnet._passes.rewrite import all_values, only_result
from passnet.kernels._errors import is_fatal


@dataclass
class Region:
    """A place where a pass replaces operations, with its times and the decision whether it is kept."""

    rule: str
    operations: int
    kept: bool = True
    reason: str = "not measured"
    eager_ns: float = math.nan
    fused_ns: float = math.nan
    stored: bool = False
    """True if the times are from the cache on disk."""
    written: tuple[int, ...] = ()
    """Positions of the arguments that the region writes to."""
    author: str = "fuse"
    """Author of the pass: `fuse`, or `dir:PATH`."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the region as plain data. Times that were not measured are None."""
        times = {name: None if math.isnan(getattr(self, name)) else getattr(self, name) for name in _TIMES}
        known = {name: getattr(self, name) for name in ("rule", "author", "operations", "kept", "reason", "stored")}
        return {**known, **times}

    def judge_times(self, times: Comparison) -> None:
        """Notes the times, and drops the region if it is slower than PyTorch."""
        self.eager_ns, self.fused_ns, self.stored = times.eager_ns, times.fused_ns, times.stored
        if times.loses:
            self.kept, self.reason = False, "slower than PyTorch"


_TIMES = ("eager_ns", "fused_ns")
# Key of `meta` of a call of a replacement: whether its tensors are on a device other than the CPU.
_ON_DEVICE = "passnet_on_device"
# Key of `meta` of a call of a replacement: positions of the arguments that it writes to.
_WRITTEN = "passnet_written"
_RANDOM = "its results depend on random numbers, or are not known beforehand"


def direct(rule: Pass) -> Pass:
    """Returns the pass with a replacement that takes the values of the pattern's parameters and checks only the range of indices."""
    run = bound_replacement(rule)

    # A new function of this module for each graph. FX calls it by its name, and `regions_of` finds its places by it.
    def replacement(*values: Any) -> Any:
        return run(*values)

    made = dataclasses.replace(rule, replacement=replacement, replacement_args=all_values)
    vars(made).update(canonical=rule.canonical, origin=rule)
    return made


def regions_of(graph: torch.fx.Graph, passes: Sequence[Pass]) -> dict[torch.fx.Node, Pass]:
    """Returns the calls of replacements in a graph, each with its pass."""
    rules = {rule.replacement: rule for rule in passes}
    return {
        node: rules[node.target] for node in graph.nodes if node.op == "call_function" and _known(node.target, rules)
    }


def drop_omitted(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> None:
    """Leaves regions to PyTorch whose replacement leaves out a write to memory that is read later. `Judge` does the same."""
    regions = {node: rule for node, rule in regions_of(module.graph, passes).items() if omitted_of(rule)}
    if not regions:
        return
    order = {node: place for place, node in enumerate(module.graph.nodes)}
    groups = memory_groups(module.graph)

    def is_read_later(value: torch.fx.Node, call: torch.fx.Node) -> bool:
        # A result of the call has memory of its own, so only the older names of the argument's memory count.
        names = [node for node in groups[value] if order[node] < order[call]]
        return any(
            node.op in ("placeholder", "get_attr") or any(order[user] > order[call] for user in node.users)
            for node in names
        )

    lost = [
        node
        for node, rule in regions.items()
        if any(is_read_later(node.args[place], node) for place in omitted_of(rule))
    ]
    for node in lost:
        drop(module.graph, node, regions[node])
    module.graph.lint()
    module.recompile()


def call_directly(module: torch.fx.GraphModule, passes: Sequence[Pass]) -> None:
    """Lets a graph call the functions of the passes, without the functions of `direct` around them, which take time in each call.

    Afterwards, `regions_of` does not find these calls. A call whose indices are checked, or whose arguments the pass computes, stays
    as it is.
    """
    for node, rule in regions_of(module.graph, passes).items():
        origin = getattr(rule, "origin", None)
        arguments = arguments_of(origin) if origin is not None and not hasattr(rule, "refusals") else None
        if arguments is not None and _needs_no_check(node, origin):
            node.target, node.args = origin.replacement, arguments.of(node.args)
    module.recompile()


def call_with_way_back(
    module: torch.fx.GraphModule, passes: Sequence[Pass], refusals_of: Callable[[Pass], Refusals]
) -> None:
    """Lets a graph compute the pattern of each pass that raises an exception before it launches a kernel.

    This is for graphs that write to arguments, because a call that fails after a write cannot be computed again as a whole, and for
    graphs of training that were not compared with PyTorch. The passes are those of `direct`. Afterwards, `regions_of` does not find these
    calls.
    """
    for node, rule in regions_of(module.graph, passes).items():
        if not hasattr(rule, "refusals"):
            origin = vars(rule)["origin"]
            bound = unchecked_replacement if _needs_no_check(node, origin) else bound_replacement
            node.target = or_pattern(origin, bound(origin), refusals_of(origin), node.meta.get(_WRITTEN, ()))
    module.recompile()


def _needs_no_check(node: torch.fx.Node, rule: Pass) -> bool:
    """Returns whether the indices of this call of a pass are safe, or are on a device where they are not checked."""
    return bool(node.meta.get(_ON_DEVICE)) or not has_unsafe_indices(rule)


def _known(target: Any, rules: dict[Any, Pass]) -> bool:
    try:
        return target in rules
    except TypeError:
        return False


class Judge(torch.fx.Interpreter):
    """Runs a rewritten graph on real values and decides whether each region is kept, with the reason if it is not."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        passes: Sequence[Pass],
        *,
        timed: bool = True,
        aliases: bool = True,
        graphed: bool = False,
        ready: Callable[[Pass, Sequence[Any]], None] = lambda *_: None,
        timings: Timings | None = None,
    ) -> None:
        super().__init__(module)
        self.timings = timings
        # Called before the first run of each pass with arguments of one kind.
        self.ready = ready
        # True if the graph becomes a CUDA graph, so that only the device's time counts.
        self.graphed = graphed
        self.sites = regions_of(module.graph, passes)
        self.timed = timed
        # False for graphs of AOTAutograd, which itself restores which results of a graph share memory.
        self.aliases = aliases
        self.regions: dict[torch.fx.Node, Region] = {}
        self.lost: dict[str, torch.fx.Graph] = {}
        """Patterns of passes that are wrong or slow, by name of the pass, with the types of one such place."""
        self._known: dict[tuple, Region] = {}
        self._patterns: dict[Callable[..., Any], Callable[..., Any]] = {}

    def run(self, *values: Any, **options: Any) -> Any:
        if self.sites:
            regions = "1 region" if len(self.sites) == 1 else f"{len(self.sites)} regions"
            _progress.show(f"verify: comparing {regions} with PyTorch{', and timing' if self.timed else ''}")
        self._given = _storages(values)
        return super().run(*values, **options)

    def run_node(self, node: torch.fx.Node) -> Any:
        rule = self.sites.get(node)
        if rule is None:
            return super().run_node(node)
        values, _ = self.fetch_args_kwargs_from_env(node)
        node.meta[_ON_DEVICE] = is_on_device(values)
        region = self._region(rule, values, self.aliases and escape_together(node), self._unseen(node))
        node.meta[_WRITTEN] = region.written
        self.regions[node] = region
        return rule.replacement(*values) if region.kept else self._pattern_of(rule)(*values)

    def _pattern_of(self, rule: Pass) -> Callable[..., Any]:
        if rule.replacement not in self._patterns:
            self._patterns[rule.replacement] = _pattern(rule)
        return self._patterns[rule.replacement]

    def _unseen(self, node: torch.fx.Node) -> frozenset[int]:
        """Returns the positions of arguments that nothing reads after this call. Writes to them do not matter, as after an in-place ReLU."""
        last = self.user_to_last_uses.get(node, [])
        if not any(argument in last for argument in node.args):
            return frozenset()
        # The memory of inputs is in `_given`. A graph has hundreds of them.
        others = [value for known, value in self.env.items() if known not in last and known.op != "placeholder"]
        seen = self._given | _storages(others)
        return frozenset(
            place
            for place, argument in enumerate(node.args)
            if argument in last and not _storages([self.env[argument]]) & seen
        )

    def _region(self, rule: Pass, values: Sequence[Any], escapes: bool, unseen: frozenset[int]) -> Region:
        # Layers of a model repeat, so one judgement serves all places of one pass with values of one kind.
        # `escapes` and `unseen` are part of the key, because the comparison of results depends on them.
        key = rule.replacement, escapes, unseen, *(kind_of(value) for value in values)
        if key not in self._known:
            region = Region(rule.name, _operations(rule), author=author_of_pass(rule))
            self._decide(rule, values, region, escapes, unseen)
            self._known[key] = region
            if not region.kept and region.reason != _RANDOM and rule.name not in self.lost:
                self.lost[rule.name] = typed_pattern(rule.pattern, copies(values))
        return dataclasses.replace(self._known[key])

    def _decide(self, rule: Pass, values: Sequence[Any], region: Region, escapes: bool, unseen: frozenset[int]) -> None:
        if any(map(is_lazy, values)):
            region.kept, region.reason = False, "one of its tensors is a lazily conjugated or negated view"
            return
        pattern = self._pattern_of(rule)
        effects = known_effects(rule, pattern, values, None if self.timings is None else self.timings.store)
        if effects is None or effects.is_random:
            region.kept, region.reason = False, _RANDOM
            return
        region.written = tuple(sorted(effects.mutated))
        if self._lost_before(rule, values, region):
            return
        if omitted_of(rule) - unseen:
            # A comparison would not show this where the write changes nothing by chance.
            region.kept, region.reason = False, "it leaves out a write to memory that is read later"
            return
        if refusal := overlap(rule, values, region.written):
            # A comparison would not show this reliably: which of two threads is first differs between calls.
            region.kept, region.reason = False, refusal.reason
            return
        self.ready(rule, values)
        try:
            fault = _fault(rule, pattern, values, escapes, unseen)
        except Exception as error:
            if is_fatal(error):
                raise
            fault = f"its replacement refuses the arguments: {error}"
        if fault is not None:
            region.kept, region.reason = False, fault
            return
        region.reason = "equal to PyTorch"
        if self.timed:
            region.judge_times(self._times(rule, pattern, values, effects))

    def _lost_before(self, rule: Pass, values: Sequence[Any], region: Region) -> bool:
        """Returns whether it is known from an earlier process that a region is slower. It is then dropped, and not even compared."""
        known = self.timings.read(*self._texts(rule, values)) if self.timed and self.timings is not None else None
        if known is None or not known.loses:
            return False
        region.judge_times(known)
        return True

    def _times(self, rule: Pass, pattern: Callable[..., Any], values: Sequence[Any], effects: Effects) -> Comparison:
        def measured() -> Comparison:
            # A call that writes changes its arguments with every repetition, so each side gets its own copies.
            eager, fused = (copies(values) if effects.mutated else values for _ in range(2))
            sides = (lambda: pattern(*eager)), (lambda: rule.replacement(*fused))
            return compare_times(*sides, device_of(values), graphed=self.graphed)

        return measured() if self.timings is None else self.timings.compare(self._texts(rule, values), measured)

    def _texts(self, rule: Pass, values: Sequence[Any]) -> tuple[str | None, ...]:
        """Returns what the times of a region depend on."""
        return "region", text_of_pass(rule), kinds_of(values)


def drop(graph: torch.fx.Graph, node: torch.fx.Node, rule: Pass) -> None:
    """Replaces a call of a replacement in the graph by the operations of its pattern."""
    placeholders = [part for part in rule.pattern.nodes if part.op == "placeholder"]
    bound: dict[torch.fx.Node, Any] = dict(zip(placeholders, node.args, strict=True))
    with graph.inserting_before(node):
        results = graph.graph_copy(rule.pattern, bound)
    if not rule.returns_sequence:
        node.replace_all_uses_with(results)
    else:
        parts = list(results) if isinstance(results, (tuple, list)) else [results]
        for user in list(node.users):
            # The user is `getitem(call, place)` or `only_result(call)`.
            user.replace_all_uses_with(parts[0 if user.target is only_result else user.args[1]])
            graph.erase_node(user)
    graph.erase_node(node)


def _pattern(rule: Pass) -> Callable[..., Any]:
    return torch.fx.GraphModule({}, rule.pattern).forward


def _operations(rule: Pass) -> int:
    return sum(node.op not in ("placeholder", "output") for node in rule.pattern.nodes)


def _storages(values: Any) -> set[int]:
    """Returns the storages of all tensors within values."""
    leaves = torch.utils._pytree.tree_leaves(values)
    return {memory for leaf in leaves if (memory := memory_of(plain_tensor(leaf))) is not None}


def _fault(
    rule: Pass, pattern: Callable[..., Any], values: Sequence[Any], escapes: bool, unseen: frozenset[int]
) -> str | None:
    """Returns the difference between a replacement and its pattern; None if there is none.

    If several results escape, they have to share memory with each other as the pattern's results do. The arguments are compared
    after the calls too: both functions must write to the same arguments.
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
    """Returns the difference between two functions on these values; None if there is none.

    Each function gets copies of the values and the same random numbers. With `aliases`, the results of both have to share memory
    with each other in the same way.
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
    """Runs the block with a fork of the random state: random numbers after the block are the same as without the block."""
    devices = {
        value.device.index for value in values if isinstance(value, torch.Tensor) and value.device.type == "cuda"
    }
    with torch.random.fork_rng(devices=[device for device in devices if device is not None]):
        yield


def _difference(ours: Any, theirs: Any, eager: Sequence[Any], fused: Sequence[Any], escapes: bool) -> str | None:
    # The arguments are compared after the results; they are always in the memory of arguments, so that is no difference.
    reasons = [
        other_sharing(ours[0], theirs[0]) if escapes else None,
        difference(ours[0], theirs[0], [*eager, *fused]),
        difference(ours[1:], theirs[1:], ()),
    ]
    # A difference in values may be an improvement in precision, so any other kind of difference is reported first.
    found = [reason for reason in reasons if reason is not None]
    return min(found, key=lambda reason: isinstance(reason, Inexact), default=None)
