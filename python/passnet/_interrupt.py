"""Handling of Ctrl-C in programs that the command starts. Ctrl-C ends them silently until they call :func:`raise_on_interrupt`."""

from __future__ import annotations

import signal


def raise_on_interrupt() -> None:
    """Makes Ctrl-C raise `KeyboardInterrupt`, so that `finally` blocks run. Call it after imports, which would print a traceback."""
    # A shell starts background programs with SIGINT ignored. They must keep ignoring it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
