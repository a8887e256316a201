"""Modes that see every operator of a call, and do not import Dynamo."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class PlainDispatchMode(TorchDispatchMode):
    """A mode whose `__torch_dispatch__` is called as it is.

    PyTorch wraps this method, so that Dynamo does not compile it. The wrapper imports Dynamo at its first call, which takes each worker
    more than a second, although few workers compile anything. Code that the backend runs is skipped by Dynamo anyway.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
