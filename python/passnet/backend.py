"""`torch.compile(model, backend="passnet")`.

The backend applies the passes of given directories, passes that the built-in author writes in the process, or both. torch finds
the backend of an installed PassNet by its name. In a source tree, call `register` first, or pass the function `passnet` itself.

Results are those of PyTorch. A pass is used only for calls that it is written for. PyTorch computes the pattern instead if the call
requires a gradient, if autocast changes the pattern, if an argument is a subclass of a tensor or a tensor without data, and if the
replacement raises an exception. The first call of each signature also runs the pattern and compares the results. PassNet warns once
for each pass and each kind of reason for which the pass is not used.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch._dynamo
import torch.fx
from torch.autograd import forward_ad

from passnet import _native
from passnet._backend.author import NotAuthoredError, author_passes
from passnet._backend.cache import Store
from passnet._backend.directories import load_directories
from passnet._backend.fallback import Refusals, with_fallback
from passnet._backend.inductor import compile_rest
from passnet._backend.modes import ModesKept, keeps_modes
from passnet._backend.regions import drop_omitted, regions_of
from passnet._backend.report import GraphReport, Report
from passnet._backend.sharing import (
    SPLITS,
    escape_together,
    left_to_pytorch,
    share_storages,
    splits_written_input,
    written_inputs,
)
from passnet._backend.sizes import Sized, SizesReport, has_symbols
from passnet._backend.stages import Stages
from passnet._backend.step import CheckedSteps
from passnet._passes.load import Pass, PassDirectory
from passnet._passes.rewrite import Rewriting, rewrite
from passnet._summary import summary
from passnet._warning import warn
from passnet.kernels._errors import is_fatal

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Backend:
    """Rewrites each captured graph by pass directories and runs the result without further compilation.

    - `falls_back`: leaves calls that a pass is not written for to PyTorch.
    - `verify`: with `falls_back`, compares the first call of each signature with PyTorch.
    - `author`: lets the built-in author write passes for the remaining operations.
    - `store`: keeps the passes of the author for the next process.
    - `then`: `"inductor"` lets TorchInductor compile the rest.
    """

    def __init__(
        self,
        directories: Sequence[PassDirectory],
        *,
        falls_back: bool = False,
        verify: bool = True,
        author: bool = False,
        store: Store | None = None,
        then: str | None = None,
    ) -> None:
        self.passes = [rule for directory in directories for rule in directory.passes]
        self.falls_back = falls_back
        self.verify = verify
        self.author = author
        self.store = store
        self.then = then
        self.matches = {rule.name: 0 for rule in self.passes}
        """Number of places that each pass has rewritten so far, summed over all graphs, by name of the pass."""
        self.graphs: list[GraphReport] = []
        self._rewritings: list[Rewriting] = []
        self._warned: dict[str, set[str]] = {rule.name: set() for rule in self.passes}

    def __call__(self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        written = written_inputs(module.graph) if self.falls_back and len(example_inputs) > 1 else []
        if not written:
            return keeps_modes(self._compiled(module, example_inputs), module.graph)
        plain = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
        run = self._compiled(module, example_inputs)
        return keeps_modes(_unless_shared(run, plain.forward, written), module.graph)

    @contextlib.contextmanager
    def wrapping(self, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
        """Lets compiled code call `wrap(function)` instead of each replacement function during the block. With `falls_back`, changes nothing."""
        with contextlib.ExitStack() as stack:
            for rewriting in self._rewritings:
                stack.enter_context(rewriting.wrapping(wrap))
            yield

    def _compiled(self, module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        graph = GraphReport.of(module, example_inputs)
        self.graphs.append(graph)
        # Dynamo's subclass of `GraphModule` compiles its code only at its first call. Rewriting reads that code.
        module = torch.fx.GraphModule(module, module.graph)
        wants_gradient = torch.is_grad_enabled() and any(
            getattr(value, "requires_grad", False) for value in example_inputs
        )
        if self.then is not None:
            return self._with_rest(module, example_inputs, graph, wants_gradient)
        self._rewrite(module, [self._used(rule, graph) for rule in self.passes], graph)
        # `wants_gradient` holds for all calls of this graph: Dynamo captures again when it changes.
        if self.author and has_symbols(example_inputs):
            return self._sized(module, graph, wants_gradient)
        if self.author and wants_gradient:
            return self._trained(module, example_inputs, graph)
        if self.author:
            self._rewrite(module, [self._used(rule, graph) for rule in self._authored(module, graph)], graph)
        elif self.falls_back and len(self.graphs) == 1 and not any(self.matches.values()):
            self._warn_of_no_match(graph)
        return module.forward

    def _sized(self, module: torch.fx.GraphModule, graph: GraphReport, wants_gradient: bool) -> Callable[..., Any]:
        """Returns a function that compiles one specialisation of the graph for each set of sizes, up to a limit."""

        def compiled(sized: torch.fx.GraphModule, values: Sequence[Any]) -> Callable[..., Any]:
            try:
                if wants_gradient:
                    return self._trained(sized, values, graph)
                self._rewrite(sized, [self._used(rule, graph) for rule in self._authored(sized, graph)], graph)
            except Exception as error:
                if is_fatal(error):
                    raise
                graph.not_authored = summary(error)
            return sized.forward

        graph.sizes = SizesReport()
        return Sized(module, compiled, module.forward, graph.sizes)

    def _with_rest(
        self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], graph: GraphReport, wants_gradient: bool
    ) -> Callable[..., Any]:
        """Returns the graph compiled by TorchInductor, whose hook applies the passes."""
        if wants_gradient:
            graph.not_authored = "a gradient is required: TorchInductor compiles the whole graph"
            return compile_rest(module, example_inputs, [])[0]
        trial = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
        used = [self._used(rule, graph) for rule in self.passes]
        self._rewrite(trial, used, graph)
        if self.author:
            written = [self._used(rule, graph) for rule in self._authored(trial, graph)]
            self._rewrite(trial, written, graph)
            used += written
        return compile_rest(module, example_inputs, used)[0]

    def _trained(
        self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], graph: GraphReport
    ) -> Callable[..., Any]:
        """Returns the graph with compiled gradients. If AOTAutograd cannot trace the graph, warns once and PyTorch computes the gradients."""
        written = written_inputs(module.graph)
        if share_storages(example_inputs, written):
            # AOTAutograd compiles for this sharing only, and gives wrong results for separate arguments.
            graph.not_authored = "a gradient is required, and an input that is written to shares memory with another"
            return module.forward
        if splits_written_input(module.graph):
            graph.not_authored = f"a gradient is required, and {SPLITS}"
            return module.forward
        stages = Stages([], self.store or Store.default(), verify=self.verify)
        try:
            with ModesKept():
                differentiable = stages.differentiable(module, example_inputs)
        except Exception as error:
            if is_fatal(error):
                raise
            graph.not_authored = f"a gradient is required, and AOTAutograd cannot give it: {summary(error)}"
            warn(f"{graph.source}: {graph.not_authored}")
            return module.forward
        graph.stages.append(stages.reports)
        run = differentiable
        if self.verify and not _has_operators_of_graphs(module.graph):

            def left(fault: str) -> None:
                graph.not_authored = f"a gradient is required, and a step gives another result: {fault}"
                stages.leave("the gradients are left to PyTorch")
                warn(f"{graph.source}: {graph.not_authored}")

            run = CheckedSteps(module.forward, differentiable, written, left)
        # Functions of AOTAutograd do not support forward-mode gradients.
        return lambda *values: (run if forward_ad._current_level < 0 else module.forward)(*values)

    def _rewrite(self, module: torch.fx.GraphModule, passes: Sequence[Pass], graph: GraphReport) -> None:
        rewriting = rewrite(module, passes)
        graph.set_rewriting(rewriting)
        for rule in rewriting.passes:
            self.matches[rule.name] = self.matches.get(rule.name, 0) + rule.matches
        if not self.falls_back:
            self._rewritings.append(rewriting)
        drop_omitted(module, passes)
        if self.falls_back and self.then is None:
            sites = regions_of(module.graph, passes)
            for name in {rule.name for rule in sites.values()}:
                graph.refusals[name].results_may_change = any(
                    escape_together(node) for node, rule in sites.items() if rule.name == name
                )

    def _authored(self, module: torch.fx.GraphModule, graph: GraphReport) -> Sequence[Pass]:
        """Returns the author's passes for the operations of a graph that the known passes do not replace."""
        try:
            authored = author_passes(module.graph, self.store, left=left_to_pytorch(module.graph))
        except NotAuthoredError as error:
            graph.not_authored = str(error)
            return ()
        if authored.faults:
            graph.not_authored = "; ".join(authored.faults)
        return authored.passes

    def _used(self, rule: Pass, graph: GraphReport) -> Pass:
        """Returns the pass to apply to a graph: with a fallback to PyTorch if `falls_back` is set."""
        if not self.falls_back:
            return rule
        graph.refusals[rule.name] = Refusals(rule.name, self._warned.setdefault(rule.name, set()))
        return with_fallback(rule, graph.refusals[rule.name], verify=self.verify)

    def _warn_of_no_match(self, graph: GraphReport) -> None:
        if self.passes:
            name, miss = next(iter(graph.misses.items()))
            message = f"no pass matches in {graph.source}; `{name}`: {miss}. See `passnet.backend.report()`"
        else:
            message = "the backend `passnet` has neither passes nor an author; give `options={'passes': DIRECTORY}`"
        warn(message)


def _has_operators_of_graphs(graph: torch.fx.Graph) -> bool:
    """Returns whether a graph has operators that run other graphs, such as checkpoints.

    Outside AOTAutograd, a checkpoint draws other random numbers when it computes its graph again, so PyTorch's gradients are wrong there.
    """
    return any(isinstance(node.target, torch._ops.HigherOrderOperator) for node in graph.nodes)


def _unless_shared(run: Callable[..., Any], plain: Callable[..., Any], written: Sequence[int]) -> Callable[..., Any]:
    """Returns a function that runs `plain` where an input at the places `written` shares memory with another, and `run` elsewhere.

    Passes take inputs for separate memory: a kernel may read one of them after the graph has written to another.
    """
    share_memory = _native.share_memory
    return lambda *values: (plain if share_memory(values, written) else run)(*values)


def passnet(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    **_: Any,
) -> Callable[..., Any]:
    """Returns the backend that torch finds under the name `passnet`.

    Keys of `options`:

    - `passes`: a pass directory, or a list of pass directories.
    - `author`: `"fuse"`, the built-in author, which writes passes for the operations that `passes` do not replace, or `None`. The
      default is `None` if there are `passes`, else `"fuse"`.
    - `verify`: compares the first call of each signature with PyTorch. On by default.
    - `cache_dir`: directory for the passes that the author has written (default: `compile` in `PASSNET_CACHE`).
    - `then`: `"inductor"` lets TorchInductor compile the operations that no pass replaces.

    Raises `ValueError` for another option, and `PassError` for a directory that cannot be loaded.
    """
    options = options or {}
    for name in options:
        if name not in _OPTIONS:
            close = difflib.get_close_matches(name, _OPTIONS, 1)
            advice = f"did you mean `{close[0]}`?" if close else f"there are {' and '.join(f'`{n}`' for n in _OPTIONS)}"
            raise ValueError(f"the backend `passnet` has no option `{name}`; {advice}")
    paths: Paths = options.get("passes", ())
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    author = options.get("author", None if paths else "fuse")
    if author not in ("fuse", None):
        raise ValueError(f"the backend `passnet` has no author `{author}`; use 'fuse' or None")
    then = options.get("then")
    if then not in ("inductor", None):
        raise ValueError(f"the backend `passnet` has no value `{then}` for the option `then`; use 'inductor' or None")
    places = tuple(os.path.abspath(path) for path in paths)
    key = places, options.get("verify", True), author, options.get("cache_dir"), then
    return _backend(*key)(module, example_inputs)


def report(model: Any = None) -> Report:
    """Returns the report on the graphs of a model or function, compiled or not. Without `model`, it covers all graphs of the process.

    The `repr` is for people, `as_dict()` is for programs.
    """
    graphs = [graph for backend in _backends.values() for graph in backend.graphs]
    return Report([graph for graph in graphs if model is None or graph.is_of(model)])


def register() -> None:
    """Registers the backend `passnet` in torch. Needed only where the package is not installed."""
    if "passnet" not in torch._dynamo.list_backends():
        torch._dynamo.register_backend(passnet)


_OPTIONS = ("passes", "author", "verify", "cache_dir", "then")
_backends: dict[tuple[Any, ...], Backend] = {}


def _backend(
    paths: tuple[str, ...], verify: bool, author: str | None, cache_dir: str | None, then: str | None
) -> Backend:
    # A model has many graphs. The key makes sure that the directories are imported once.
    key = paths, verify, author, cache_dir, then
    if key not in _backends:
        directories = [directory for path in paths for directory in load_directories(path)]
        store = Store.default() if cache_dir is None else Store(cache_dir)
        _backends[key] = Backend(
            directories, falls_back=True, verify=verify, author=author is not None, store=store, then=then
        )
    return _backends[key]
