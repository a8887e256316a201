"""Arguments that share memory with an argument that the call writes to.

Passes take arguments for separate memory: a kernel may read one of them after the graph has written to another. A compiled call is
therefore for one case: written memory that no other argument has, or written memory that another argument has. In the second case,
PyTorch runs the captured graph.
"""

from __future__ import annotations

from passnet import _native
from passnet._compile.capture import Captured

REASON = "arguments that the call writes to share memory with others"


def shares_written_memory(captured: Captured) -> bool:
    """Returns whether an argument that the captured call writes to shares memory with another argument of the graph."""
    return _native.share_memory(tuple(captured.example), sorted(captured.mutated))
