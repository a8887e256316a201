"""`torch.compile(model, backend="passnet", options={"passes": DIRECTORY})`.

An installed PassNet is found by that name without further ado. From a source tree, call `register` first, or give the
function `passnet` itself as the backend.

A replacement that is not written for the inputs that it gets, for other sizes for example, raises `ValueError` before it changes
anything. Then its pattern is computed by PyTorch, with one warning for each pass.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._dynamo
import torch.fx

from passnet._errors import PassError
from passnet._passes import Pass, PassDirectory
from passnet._rewrite import rewrite

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Backend:
    """Rewrites each captured graph by pass directories and runs the result without further compilation.

    With `falls_back`, what a replacement refuses is computed as it was.
    """

    def __init__(self, directories: Sequence[PassDirectory], *, falls_back: bool = False) -> None:
        passes = [rule for directory in directories for rule in directory.passes]
        self.passes = [with_fallback(rule) for rule in passes] if falls_back else passes
        self.matches = {rule.name: 0 for rule in self.passes}
        """Number of places that each pass has rewritten so far, over all graphs."""

    def __call__(self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        rewriting = rewrite(module, self.passes)
        for report in rewriting.passes:
            self.matches[report.name] += report.matches
        return rewriting.module.forward


def with_fallback(rule: Pass) -> Pass:
    """The pass with a replacement that computes the pattern where its own raises `ValueError`.

    A pass whose `replacement_args` does more than hand on parameters and constants stays as it is.
    """
    marks = {name: object() for name in rule.parameters}
    try:
        given = rule.bind_arguments(marks)
    except PassError:
        return rule
    places = {id(mark): place for place, mark in enumerate(marks.values())}
    wanted = [(places.get(id(arg)), arg) for arg in given]
    original = torch.fx.GraphModule({}, rule.pattern)
    has_warned = False

    def replacement(*values: Any) -> Any:
        nonlocal has_warned
        try:
            return rule.replacement(*(arg if place is None else values[place] for place, arg in wanted))
        except ValueError as error:
            if not has_warned:
                has_warned = True
                message = f"pass `{rule.name}` refuses its inputs, which PyTorch computes as before: {error}"
                warnings.warn(message, RuntimeWarning, stacklevel=2)
            return original(*values)

    return dataclasses.replace(rule, replacement=replacement, replacement_args=lambda *values: values)


def passnet(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    **_: Any,
) -> Callable[..., Any]:
    """The backend that torch finds under the name `passnet`.

    `options["passes"]` is a pass directory or a list of them; without it, graphs run as captured.
    """
    paths: Paths = (options or {}).get("passes", ())
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    return _backend(tuple(os.path.abspath(path) for path in paths))(module, example_inputs)


def register() -> None:
    """Makes the name `passnet` known to torch where the package is not installed."""
    if "passnet" not in torch._dynamo.list_backends():
        torch._dynamo.register_backend(passnet)


_backends: dict[tuple[str, ...], Backend] = {}


def _backend(paths: tuple[str, ...]) -> Backend:
    # A model gives many graphs; the directories are imported once.
    if paths not in _backends:
        _backends[paths] = Backend([PassDirectory.load(path) for path in paths], falls_back=True)
    return _backends[paths]
