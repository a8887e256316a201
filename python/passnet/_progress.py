"""Progress of commands that take minutes."""

from __future__ import annotations

from collections.abc import Callable

_listener: Callable[[str], None] | None = None


def listen(listener: Callable[[str], None] | None) -> None:
    """Calls `listener` with each step that begins in this process, in place of an earlier listener. None ends the reports."""
    global _listener
    _listener = listener


def show(step: str) -> None:
    """Reports that a step begins. Without a listener, it does nothing."""
    if _listener is not None:
        _listener(step)
