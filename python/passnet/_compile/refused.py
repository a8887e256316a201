"""Captured graphs that later calls, or this call, may not run."""

from __future__ import annotations

import re

import torch

# `_assert_scalar` of a size that depends on values. Such a size is never negative, so these assertions hold.
_HOLDS = re.compile(r"Runtime assertion failed for expression u\d+ >= 0 ")
_ASSUMES = "Runtime assertion failed for expression "


def refusal_of(graph: torch.fx.Graph) -> str | None:
    """Returns the reason why a captured graph may not run; None without one."""
    if torch.is_grad_enabled() and any("checkpoint" in str(node.target) for node in graph.nodes):
        # Only AOTAutograd gives the second computation the random numbers of the first.
        return "parts of it are computed again for the gradients (checkpointing)"
    for node in graph.nodes:
        messages = [str(value) for value in node.args if isinstance(value, str)]
        # Dynamo chose a branch by an assumption about the size, and the graph raises an exception for other sizes.
        if any(message.startswith(_ASSUMES) and _HOLDS.match(message) is None for message in messages):
            return "a size in it depends on the values of tensors, and Dynamo assumes a range for this size"
    return None
