"""Triton made ready in a thread, while a call is captured.

Before its first kernel, Triton hashes its own library for the keys of its cache, builds its link to the driver with a C compiler, and
imports the language that argument types need. Together this takes about a second, most of it without Python's lock.
"""

from __future__ import annotations

import contextlib
import importlib
import threading

import torch

_lock = threading.Lock()
_thread: threading.Thread | None = None


def begin() -> None:
    """Starts the thread, once in a process, where a GPU is in use."""
    global _thread
    with _lock:
        if _thread is None and torch.cuda.is_initialized():
            _thread = threading.Thread(target=_prepare, name="passnet-triton", daemon=True)
            _thread.start()


def wait() -> None:
    """Waits for the thread, if there is one. A copy of the process must not be made before: it would have the locks of imports."""
    if _thread is not None:
        _thread.join()


def _prepare() -> None:
    for step in (_hash, _link, _import):
        # Other versions of Triton have other names, and the first kernel meets any error again.
        with contextlib.suppress(Exception):
            step()


def _hash() -> None:
    importlib.import_module("triton.runtime.cache").triton_key()


def _link() -> None:
    importlib.import_module("triton.runtime").driver.active.get_current_target()


def _import() -> None:
    importlib.import_module("triton.experimental.gluon")
