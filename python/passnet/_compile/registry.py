"""Notice of changes in the structure of modules: a parameter, buffer or submodule that is registered."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules import module as hooks

_lock = threading.Lock()
_watchers: weakref.WeakKeyDictionary[torch.nn.Module, list[weakref.WeakMethod[Callable[[], None]]]]
_watchers = weakref.WeakKeyDictionary()
_installed: list[Any] = []


def watch(model: torch.nn.Module, changed: Callable[[], None]) -> None:
    """Calls the method `changed` after a parameter, buffer or module is registered in the model or a module within it.

    Assignment to an attribute registers too. The watcher is not kept alive.
    """
    with _lock:
        if not _installed:
            _installed.extend(
                [
                    hooks.register_module_parameter_registration_hook(_registered),
                    hooks.register_module_buffer_registration_hook(_registered),
                    hooks.register_module_module_registration_hook(_registered),
                ]
            )
        for module in model.modules():
            _watchers.setdefault(module, []).append(weakref.WeakMethod(changed))


def unwatch(model: torch.nn.Module, changed: Callable[[], None]) -> None:
    """Ends the watch of `watch`."""
    with _lock:
        for module in model.modules():
            kept = [known for known in _watchers.get(module, []) if known() not in (None, changed)]
            _watchers[module] = kept


def _registered(module: torch.nn.Module, _name: str, _value: Any) -> None:
    for known in _watchers.get(module, ()):
        if (changed := known()) is not None:
            changed()
