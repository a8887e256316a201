"""Calls through `torch.compile` in which PyTorch runs the functions that Dynamo cannot capture."""

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
    """Returns the function with failures of Dynamo logged instead of raised. PyTorch runs the code that Dynamo failed on.

    A second run of the whole model after such a failure would repeat changes that the first run has made. The setting belongs to the
    process and is changed while such a call runs. A context manager for it would take four times as long as this function.
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
