"""Ctrl-C in programs that the command starts: it ends them silently until they call :func:`raise_on_interrupt`."""

from __future__ import annotations

import signal


def raise_on_interrupt() -> None:
    """Makes Ctrl-C raise `KeyboardInterrupt`, so that `finally` blocks run. Call it after imports, which would print a traceback."""
    # A shell starts programs in the background with the signal ignored, and they keep it ignored.
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
