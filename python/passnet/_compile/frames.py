"""Calls through `torch.compile` in which PyTorch runs the functions that Dynamo cannot capture."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch._dynamo

from passnet._compile.dynamo import AS_WRITTEN

_SETTINGS = {"suppress_errors": True, **AS_WRITTEN}
_lock = threading.Lock()
_running = 0
_before: dict[str, Any] = {}


def without_errors(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with failures of Dynamo logged instead of raised. PyTorch runs the code that Dynamo failed on. Dynamo keeps
    operations as they are written.

    A second run of the whole model after such a failure would repeat changes that the first run has made. The settings belong to the
    process and are changed while such a call runs. A context manager for them would take four times as long as this function.
    """

    @functools.wraps(compiled)
    def call(*args: Any, **kwargs: Any) -> Any:
        global _running, _before
        config = torch._dynamo.config
        with _lock:
            if _running == 0:
                _before = {name: getattr(config, name) for name in _SETTINGS}
                for name, value in _SETTINGS.items():
                    setattr(config, name, value)
            _running += 1
        try:
            return compiled(*args, **kwargs)
        finally:
            with _lock:
                _running -= 1
                if _running == 0:
                    for name, value in _before.items():
                        setattr(config, name, value)

    return call
