"""Dynamo with the settings for captures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch._dynamo

# Some releases of Dynamo write `x.add_(y, alpha=0.1)` and `x.addcdiv_(y, z, value=0.1)` as several operations, each of which rounds.
_DECOMPOSITIONS = "enable_dynamo_decompositions"


def call_captured(
    function: Callable[..., Any], backend: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Calls a function under Dynamo as one graph of fixed sizes, with its operations as they are written. Returns its result."""
    is_known = hasattr(torch._dynamo.config, _DECOMPOSITIONS)
    with torch._dynamo.config.patch({_DECOMPOSITIONS: False}) if is_known else contextlib.nullcontext():
        return torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*args, **kwargs)
