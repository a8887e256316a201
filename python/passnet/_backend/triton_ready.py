"""Prepares Triton in a thread while a call is captured.

Before its first kernel, Triton hashes its own library for the keys of its cache, builds its link to the driver with a C compiler, and
imports its language module, which argument types need. Together this takes about a second, most of it without Python's lock.
"""

from __future__ import annotations

import contextlib
import importlib
import threading

import torch

_lock = threading.Lock()
_thread: threading.Thread | None = None


def begin() -> None:
    """Starts the thread, once in a process, if a GPU is in use."""
    global _thread
    with _lock:
        if _thread is None and torch.cuda.is_initialized():
            _thread = threading.Thread(target=_prepare, name="passnet-triton", daemon=True)
            _thread.start()


def wait() -> None:
    """Waits for the thread, if there is one. Call it before a fork: the copy would otherwise have import locks that nothing releases."""
    if _thread is not None:
        _thread.join()


def _prepare() -> None:
    for step in (_hash, _link, _import):
        # Other versions of Triton have other names. Any other error occurs again at the first kernel, which reports it.
        with contextlib.suppress(Exception):
            step()


def _hash() -> None:
    importlib.import_module("triton.runtime.cache").triton_key()


def _link() -> None:
    importlib.import_module("triton.runtime").driver.active.get_current_target()


def _import() -> None:
    importlib.import_module("triton.experimental.gluon")
