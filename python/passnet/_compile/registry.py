"""Notifications about registered parameters, buffers and submodules."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules import module as hooks

_lock = threading.Lock()
_watchers: weakref.WeakKeyDictionary[torch.nn.Module, list[tuple[weakref.ref[Any], Callable[[Any], None]]]]
_watchers = weakref.WeakKeyDictionary()
_installed: list[Any] = []


def watch(model: torch.nn.Module, owner: Any, changed: Callable[[Any], None]) -> None:
    """Calls `changed(owner)` when a parameter, buffer or module is registered in the model or in a module within it.

    Assigning a parameter, buffer or module to an attribute also registers it. The owner is not kept alive.
    """
    entry = weakref.ref(owner), changed
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
            known = [other for other in _watchers.get(module, []) if other[0]() not in (None, owner)]
            _watchers[module] = [*known, entry]


def _registered(module: torch.nn.Module, name: str, value: Any) -> None:
    # Dynamo traces this function where a model assigns a buffer. It would read the watchers by their positions, which change when another
    # model is freed. Entries compare the buffers of the model themselves, so they notice such a change.
    if torch.compiler.is_compiling():
        return
    # Not a change: `self.calls += 1` assigns the same buffer again.
    if value is not None and any(
        part.get(name) is value for part in (module._parameters, module._buffers, module._modules)
    ):
        return
    for reference, changed in _watchers.get(module, ()):
        if (owner := reference()) is not None:
            changed(owner)
