"""Prepares Triton in threads while a call is captured.

Before its first kernel, Triton hashes its own library for the keys of its cache, builds its link to the driver with a C compiler, and
imports its language module, which argument types need. Together this takes about a second, most of it without Python's lock. The C
compiler has a thread of its own, because it takes about as long as the other two steps.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable

import torch

_lock = threading.Lock()
_threads: list[threading.Thread] = []


def begin() -> None:
    """Starts the threads, once in a process, if a GPU is in use."""
    with _lock:
        if _threads or not torch.cuda.is_initialized():
            return
        for steps in ((_link,), (_hash, _import)):
            thread = threading.Thread(target=_prepare, args=steps, name="passnet-triton", daemon=True)
            thread.start()
            _threads.append(thread)


def wait() -> None:
    """Waits for the threads, if there are any. Call it before a fork: the copy would otherwise have import locks that nothing releases."""
    for thread in _threads:
        thread.join()


def _prepare(*steps: Callable[[], None]) -> None:
    for step in steps:
        # Other versions of Triton have other names. Any other error occurs again at the first kernel, which reports it.
        with contextlib.suppress(Exception):
            step()


def _hash() -> None:
    importlib.import_module("triton.runtime.cache").triton_key()


def _link() -> None:
    importlib.import_module("triton.runtime").driver.active.get_current_target()


def _import() -> None:
    importlib.import_module("triton.experimental.gluon")
