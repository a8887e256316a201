"""Applies passes to a graph: replaces each match by a call of the replacement function."""

from __future__ import annotations

import contextlib
import copy
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch.fx.proxy import GraphAppendingTracer

from passnet import _native
from passnet._monitor import intercept
from passnet._passes.canonical import CanonicalGraph
from passnet._passes.errors import PassError
from passnet._passes.load import Pass


@dataclass(frozen=True)
class PassReport:
    """The effect of one pass; `nearest` has the fields of the protocol's `NearestMiss`."""

    name: str
    matches: int
    nearest: dict[str, Any] | None


@dataclass
class Rewriting:
    """A rewritten module, with the effect of each pass."""

    module: torch.fx.GraphModule
    passes: list[PassReport] = field(default_factory=list)
    replacements: set[Callable[..., Any]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        """Returns the fields of the `loaded` reply that depend on rewriting."""
        return {
            "nodes_after": sum(node.op not in ("placeholder", "output") for node in self.module.graph.nodes),
            "passes": [vars(report) for report in self.passes],
            "rewritten": self.module.code,
            "notes": self.notes,
        }

    def checked_module(self, watch: intercept.Watch) -> torch.fx.GraphModule:
        """Returns a copy whose replacement functions run under watch."""
        return self.wrapped(lambda function: intercept.guarded(function, watch))

    def wrapped(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> torch.fx.GraphModule:
        """Returns a copy that calls `wrap(function)` instead of each replacement function."""
        graph = copy.deepcopy(self.module.graph)
        wrappers: dict[Callable[..., Any], Callable[..., Any]] = {}
        for node in graph.nodes:
            if node.op == "call_function" and node.target in self.replacements:
                node.target = wrappers.setdefault(node.target, wrap(node.target))
        return torch.fx.GraphModule(self.module, graph)

    @contextlib.contextmanager
    def wrapping(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
        """Lets the module itself call `wrap(function)` instead of each replacement function during the block.

        Code that Dynamo compiled calls this module, and not a copy.
        """
        names = type(self.module).forward.__globals__
        functions = {id(function) for function in self.replacements}
        called = {name: value for name, value in names.items() if id(value) in functions}
        names.update({name: wrap(function) for name, function in called.items()})
        try:
            yield
        finally:
            names.update(called)


def rewrite(module: torch.fx.GraphModule, passes: Sequence[Pass], faults: list[str] | None = None) -> Rewriting:
    """Applies the passes in order to the module itself, each pass at all places where it matches.

    Raises `PassError` for a pass that cannot be applied. With `faults`, its message is added to this list instead, and the next pass
    follows.
    """
    rewriting = Rewriting(module)
    target = None
    for rule in passes:
        target = target or CanonicalGraph(module.graph)
        try:
            report = _apply(rule, target, rewriting)
        except PassError as error:
            if faults is None:
                raise
            faults.append(str(error))
            target = None
            continue
        rewriting.passes.append(report)
        # The canonical form is a copy of the graph, so it is made again only after a pass has changed the graph.
        if report.matches:
            target = None
    module.graph.lint()
    module.recompile()
    _call_by_identity(rewriting)
    return rewriting


def _call_by_identity(rewriting: Rewriting) -> None:
    """Makes the generated code call the replacement functions themselves.

    If the `__module__` of a function is a module of torch, FX writes the function by name. The code would then call the function that
    torch has under this name.
    """
    module = rewriting.module
    called = {id(value) for value in type(module).forward.__globals__.values()}
    if strangers := {function: _plain(function) for function in rewriting.replacements if id(function) not in called}:
        for node in module.graph.nodes:
            if node.op == "call_function" and node.target in strangers:
                node.target = strangers[node.target]
        rewriting.replacements = rewriting.replacements - strangers.keys() | set(strangers.values())
        module.recompile()


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of this module that calls `function`."""

    def replacement(*args: Any) -> Any:
        return function(*args)

    return replacement


def _apply(rule: Pass, target: CanonicalGraph, rewriting: Rewriting) -> PassReport:
    graph = rewriting.module.graph
    try:
        found = json.loads(_native.match_pattern(target.text, rule.canonical.text))
    except ValueError as error:
        raise PassError("rewrite", rule.name, f"`pattern` of pass `{rule.name}` cannot be matched: {error}") from None
    sites = [_Site(rule, target, match, place) for match, place in zip(found["matches"], found["places"], strict=True)]
    # The graph is examined for effects of the pass's own code. This takes longer than all else for a graph of hundreds of nodes.
    is_examined = rule.replacement_args is not all_values
    before_code = _Snapshot(graph if sites and is_examined else torch.fx.Graph())
    # All calls are inserted before any node is erased: a place or an argument may be a node that another match replaces.
    places = [site.insert_after.next for site in sites]
    results: dict[torch.fx.Node, torch.fx.Node] = {}
    for site, place in zip(sites, places, strict=True):
        before = set(graph.nodes) if is_examined else set()
        with graph.inserting_before(place):
            results |= site.insert_call(graph, rewriting)
        if is_examined:
            rewriting.notes += _computed_in_args(rule, set(graph.nodes) - before)
    rewriting.notes += [f"changes_graph:{rule.name}:{name}" for name in before_code.changes()]
    for output, result in results.items():
        output.replace_all_uses_with(result)
        result.meta = dict(output.meta)
    order = {node: position for position, node in enumerate(graph.nodes)}
    gone = {node for site in sites for node in site.erased}
    # FX refuses to erase a node with users, so nodes are erased from last to first.
    for node in sorted(gone, key=order.__getitem__, reverse=True):
        graph.erase_node(node)
    return PassReport(rule.name, len(sites), found["nearest"])


class _Site:
    """One place in a graph where a pass matches."""

    def __init__(self, rule: Pass, target: CanonicalGraph, match: list[Any], place: dict[str, Any]) -> None:
        self.rule = rule
        self.insert_after = target.nodes[place["insert_after"]]
        bound = dict(zip(rule.canonical.nodes, match, strict=True))
        count = len(rule.parameters)
        for name, value in zip(rule.parameters, match[:count], strict=True):
            if value is None:
                message = f"no result of `pattern` of pass `{rule.name}` depends on its parameter `{name}`"
                raise PassError("rewrite", rule.name, message)
        self.outputs = [target.nodes[bound[node]] for node in rule.outputs]
        self.erased = [target.nodes[number] for number in (*match[count:], *place["dead"]) if number is not None]
        self.arguments = {
            name: target.decode(value) if isinstance(value, dict) else target.nodes[value]
            for name, value in zip(rule.parameters, match[:count], strict=True)
        }

    def insert_call(self, graph: torch.fx.Graph, rewriting: Rewriting) -> dict[torch.fx.Node, torch.fx.Node]:
        """Adds the call of the replacement at the graph's insertion point. Returns the new value of each output."""
        tracer = GraphAppendingTracer(graph)
        values = {
            name: torch.fx.Proxy(value, tracer) if isinstance(value, torch.fx.Node) else value
            for name, value in self.arguments.items()
        }
        try:
            args = tuple(tracer.create_arg(value) for value in self.rule.bind_arguments(values))
        except NotImplementedError as error:
            message = f"`replacement_args` of pass `{self.rule.name}` returned what a graph cannot hold: {error}"
            raise PassError("rewrite", self.rule.name, message) from None
        call = graph.call_function(self.rule.replacement, args)
        rewriting.replacements.add(self.rule.replacement)
        if not self.rule.returns_sequence:
            results = [call]
        elif len(self.outputs) == 1:
            results = [graph.call_function(only_result, (call,))]
        else:
            results = [graph.call_function(operator.getitem, (call, index)) for index in range(len(self.outputs))]
        return dict(zip(self.outputs, results, strict=True))


class _Snapshot:
    """The nodes of a graph before `replacement_args` of a pass runs. This code gets nodes, so it could change the graph."""

    def __init__(self, graph: torch.fx.Graph) -> None:
        self.graph = graph
        self.nodes = {node: self.content(node) for node in graph.nodes}

    @staticmethod
    def content(node: torch.fx.Node) -> tuple[Any, ...]:
        # Arguments are kept as text, because constants may not be comparable.
        return node.op, node.target, repr(node.args), repr(node.kwargs)

    def changes(self) -> list[str]:
        """Returns the names of nodes that were removed or changed."""
        now = set(self.graph.nodes)
        return sorted(
            node.name for node, content in self.nodes.items() if node not in now or self.content(node) != content
        )


def _computed_in_args(rule: Pass, new: set[torch.fx.Node]) -> list[str]:
    """Returns remarks on new nodes that neither call the replacement nor unpack its result."""
    call = next(node for node in new if node.target is rule.replacement)
    computed = [node for node in new if node is not call and call not in node.all_input_nodes]
    return sorted(f"computes_in_args:{rule.name}:{node._pretty_print_target(node.target)}" for node in computed)


def all_values(*values: Any) -> tuple[Any, ...]:
    """Returns all values: the `replacement_args` of a replacement that takes the values of all parameters of the pattern."""
    return values


def only_result(result: Any) -> Any:
    """Returns the result of a replacement for a pattern that returns a sequence of length 1. The result may be a sequence or its element."""
    return result[0] if isinstance(result, (tuple, list)) else result
