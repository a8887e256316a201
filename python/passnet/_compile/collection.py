"""Garbage collection while a call is compiled."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_old_objects() -> Iterator[None]:
    """A context in which the garbage collector leaves out objects that already exist.

    A program with PyTorch and a library of models has about a million objects, and a capture makes so many that all are traversed
    repeatedly: up to a fifth of the CPU time of a compilation.
    """
    # A program that froze objects itself, as servers do before they fork, would find them unfrozen afterwards.
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
