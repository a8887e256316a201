"""Keeps the garbage collector from traversing the same objects repeatedly during a compilation."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

# Since Python 3.12, collections move immortal objects, some hundreds, to the frozen ones. A program that froze its objects has more:
# PyTorch alone makes 300,000.
_FROZEN_BY_PROGRAM = 10_000


class LeftOut:
    """Objects that collections leave out until the end of a compilation."""

    def __init__(self, *, grows: bool) -> None:
        self._grows = grows

    @contextlib.contextmanager
    def new_objects(self) -> Iterator[None]:
        """A context without collections. Later collections of the compilation leave out the objects that exist at its end.

        This is for a capture: nearly all objects that it makes live until its end, so collections would find little.
        """
        if not self._grows or not gc.isenabled():
            yield
            return
        gc.disable()
        try:
            yield
        finally:
            gc.freeze()
            gc.enable()


@contextlib.contextmanager
def without_old_objects() -> Iterator[LeftOut]:
    """A context in which the garbage collector leaves out objects that already exist.

    A program with PyTorch and a library of models has about a million objects, and a capture makes so many that all are traversed
    repeatedly: up to a fifth of the CPU time of a compilation.
    """
    # A program that froze objects itself, as servers do before they fork, would find them unfrozen afterwards.
    if gc.get_freeze_count() > _FROZEN_BY_PROGRAM:
        yield LeftOut(grows=False)
        return
    gc.freeze()
    try:
        yield LeftOut(grows=True)
    finally:
        gc.unfreeze()
