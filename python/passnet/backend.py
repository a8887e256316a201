"""`torch.compile(model, backend="passnet", options={"passes": DIRECTORY})`.

An installed PassNet is found by that name without further ado. From a source tree, call `register` first, or give the
function `passnet` itself as the backend.

Results are those of PyTorch. A pass is used only for calls that it is written for: PyTorch computes the pattern where a gradient is
wanted, where autocast changes the pattern, for subclasses of tensors and tensors without data, and where the replacement
raises an exception. The first call of each signature runs the pattern too, and compares. One warning for each pass and kind
of reason says that the pass is not used, and why.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._dynamo
import torch.fx

from passnet._backend.fallback import Refusals, with_fallback
from passnet._backend.report import GraphReport, Report
from passnet._passes.errors import PassError
from passnet._passes.load import Pass, PassDirectory
from passnet._passes.rewrite import rewrite

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Backend:
    """Rewrites each captured graph by pass directories and runs the result without further compilation.

    With `falls_back`, calls that a pass is not written for are left to PyTorch; with `verify` too, the first call of each
    signature is compared with PyTorch.
    """

    def __init__(self, directories: Sequence[PassDirectory], *, falls_back: bool = False, verify: bool = True) -> None:
        self.passes = [rule for directory in directories for rule in directory.passes]
        self.falls_back = falls_back
        self.verify = verify
        self.matches = {rule.name: 0 for rule in self.passes}
        """Number of places that each pass has rewritten so far, over all graphs."""
        self.graphs: list[GraphReport] = []
        self._warned: dict[str, set[str]] = {rule.name: set() for rule in self.passes}

    def __call__(self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        graph = GraphReport.of(module, example_inputs)
        rewriting = rewrite(module, [self._used(rule, graph) for rule in self.passes])
        graph.set_rewriting(rewriting)
        self.graphs.append(graph)
        for rule in rewriting.passes:
            self.matches[rule.name] += rule.matches
        if self.falls_back and len(self.graphs) == 1 and not any(self.matches.values()):
            self._warn_of_no_match(graph)
        return rewriting.module.forward

    def _used(self, rule: Pass, graph: GraphReport) -> Pass:
        """The pass as it is used for a graph."""
        if not self.falls_back:
            return rule
        graph.refusals[rule.name] = Refusals(rule.name, self._warned[rule.name])
        return with_fallback(rule, graph.refusals[rule.name], verify=self.verify)

    def _warn_of_no_match(self, graph: GraphReport) -> None:
        if self.passes:
            name, miss = next(iter(graph.misses.items()))
            message = f"no pass matches in {graph.source}; `{name}`: {miss}. See `passnet.backend.report()`"
        else:
            message = "the backend `passnet` has no passes; give `options={'passes': DIRECTORY}`"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def passnet(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    **_: Any,
) -> Callable[..., Any]:
    """The backend that torch finds under the name `passnet`.

    Options: `passes` is a pass directory or a list of them; without it, graphs run as captured. `verify`, on by default,
    compares the first call of each signature with PyTorch. Raises `ValueError` for another option, and `PassError` for a
    directory that cannot be loaded.
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
    return _backend(tuple(os.path.abspath(path) for path in paths), options.get("verify", True))(module, example_inputs)


def report(model: Any = None) -> Report:
    """Reports on the graphs of a model or function, compiled or not; without one, on all graphs of the process.

    The `repr` is for people, `as_dict()` is for programs.
    """
    graphs = [graph for backend in _backends.values() for graph in backend.graphs]
    return Report([graph for graph in graphs if model is None or graph.is_of(model)])


def register() -> None:
    """Makes the name `passnet` known to torch where the package is not installed."""
    if "passnet" not in torch._dynamo.list_backends():
        torch._dynamo.register_backend(passnet)


_OPTIONS = ("passes", "verify")
_backends: dict[tuple[tuple[str, ...], bool], Backend] = {}


def _backend(paths: tuple[str, ...], verify: bool) -> Backend:
    # A model gives many graphs; the directories are imported once.
    key = paths, verify
    if key not in _backends:
        _backends[key] = Backend([_load(path) for path in paths], falls_back=True, verify=verify)
    return _backends[key]


def _load(path: str) -> PassDirectory:
    if not os.path.isdir(path):
        raise PassError("import", None, f"there is no pass directory `{path}`")
    try:
        return PassDirectory.load(path)
    except PassError as error:
        raise PassError(error.stage, error.rule, f"pass directory `{path}`: {error}") from error.__cause__
