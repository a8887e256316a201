"""Calls through `torch.compile` in which a function that Dynamo cannot capture runs as it is written."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch._dynamo

_lock = threading.Lock()
_running = 0
_before = False


def without_errors(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with failures of Dynamo logged and not raised: PyTorch runs what Dynamo failed at.

    Running the whole model again after such a failure would repeat what it has changed so far. The setting is that of the process; it is changed while
    such a call runs, and a context manager for it would take four times as long as this.
    """

    @functools.wraps(compiled)
    def call(*args: Any, **kwargs: Any) -> Any:
        global _running, _before
        config = torch._dynamo.config
        with _lock:
            if _running == 0:
                _before = config.suppress_errors
                config.suppress_errors = True
            _running += 1
        try:
            return compiled(*args, **kwargs)
        finally:
            with _lock:
                _running -= 1
                if _running == 0:
                    config.suppress_errors = _before

    return call
