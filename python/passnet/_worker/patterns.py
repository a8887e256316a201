"""Patterns of the passes of a directory, for comparisons and for people."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import torch

from passnet._passes import wire
from passnet._passes.load import PassDirectory
from passnet._worker import triton_interpreter


def of_directory(path: str, device: torch.device) -> list[dict[str, Any]]:
    """Returns the pattern of each pass of a directory, both in canonical form and as it was traced."""
    if device.type == "cpu":
        triton_interpreter.enable()
    found: list[dict[str, Any]] = []
    for rule in PassDirectory.load(path).passes:
        found.append({"name": rule.name, "graph": json.loads(rule.canonical.text)})
        with contextlib.suppress(wire.WireError):
            found[-1]["written"] = wire.from_graph(rule.pattern)
    return found
