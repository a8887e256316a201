"""Arguments that share memory with an argument that the call writes to.

Passes take arguments for separate memory: a kernel may read one of them after the graph has written to another. A compiled call is
therefore for one case: written memory that no other argument has, or written memory that another argument has. In the second case,
PyTorch runs the captured graph.
"""

from __future__ import annotations

import torch

from passnet import _native
from passnet._compile.capture import Captured

REASON = "arguments that the call writes to share memory with others"


def places(captured: Captured) -> tuple[list[int], int]:
    """Returns the positions of the arguments of the graph, written ones first, and the number of written ones."""
    count = len(captured.used) + len(captured.state)
    return sorted(range(count), key=lambda place: place not in captured.mutated), len(captured.mutated)


def shares_written_memory(captured: Captured) -> bool:
    """Returns whether an argument that the captured call writes to shares memory with another argument of the graph."""
    if not captured.mutated:
        return False
    example: list[torch.Tensor] = captured.example
    order, written = places(captured)
    return _native.share_memory(tuple(example[place] for place in order), written)
