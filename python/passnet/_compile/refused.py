"""Detection of captured graphs that would give wrong results for this call or for later calls."""

from __future__ import annotations

import re

import torch

# Message of `_assert_scalar` for a size that depends on values. Such a size is never negative, so these assertions hold.
_HOLDS = re.compile(r"Runtime assertion failed for expression u\d+ >= 0 ")
_ASSUMES = "Runtime assertion failed for expression "


def refusal_of(graph: torch.fx.Graph) -> str | None:
    """Returns the reason why a captured graph must not run; None if it may run."""
    if torch.is_grad_enabled() and any("checkpoint" in str(node.target) for node in graph.nodes):
        # Only AOTAutograd makes the second computation use the same random numbers as the first.
        return "parts of it are computed again for the gradients (checkpointing)"
    for node in graph.nodes:
        messages = [str(value) for value in node.args if isinstance(value, str)]
        # Dynamo chose a branch under an assumption about the size, and the graph raises an exception for other sizes.
        if any(message.startswith(_ASSUMES) and _HOLDS.match(message) is None for message in messages):
            return "a size in it depends on the values of tensors, and Dynamo assumes a range for this size"
    return None
