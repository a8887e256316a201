"""`torch.compile(model, backend="passnet", options={"passes": DIRECTORY})`.

An installed PassNet is found by that name without further ado. From a source tree, call `register` first, or give the
function `passnet` itself as the backend.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._dynamo
import torch.fx

from passnet._passes import PassDirectory
from passnet._rewrite import rewrite

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Backend:
    """Rewrites each captured graph by pass directories and runs the result without further compilation."""

    def __init__(self, directories: Sequence[PassDirectory]) -> None:
        self.passes = [rule for directory in directories for rule in directory.passes]
        self.matches = {rule.name: 0 for rule in self.passes}
        """Number of places that each pass has rewritten so far, over all graphs."""

    def __call__(self, module: torch.fx.GraphModule, example_inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        rewriting = rewrite(module, self.passes)
        for report in rewriting.passes:
            self.matches[report.name] += report.matches
        return rewriting.module.forward


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
        _backends[paths] = Backend([PassDirectory.load(path) for path in paths])
    return _backends[paths]
