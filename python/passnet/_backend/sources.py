"""Passes from text, without files."""

from __future__ import annotations

import hashlib
import linecache
import sys
import threading
import types
from collections.abc import Iterable

from passnet._passes.load import Pass

_lock = threading.Lock()
_passes: dict[str, Pass] = {}


def load_passes(texts: Iterable[tuple[str, str]]) -> list[Pass]:
    """The passes of modules given as pairs of a name and a text. Equal texts give the same pass, with the same kernels.

    Raises `PassError`.
    """
    with _lock:
        return [_load(name, text) for name, text in texts]


def _load(name: str, text: str) -> Pass:
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    if digest not in _passes:
        _passes[digest] = Pass.of_module(name, _module(f"passnet_author_{digest}", text))
    return _passes[digest]


def _module(name: str, text: str) -> types.ModuleType:
    module = types.ModuleType(name)
    path = f"<passnet author {name}>"
    # Triton reads the source of its kernels, and tracebacks show lines.
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    module.__file__ = path
    # Registered, since `inspect` and `pickle` look functions up by the name of their module.
    sys.modules[name] = module
    exec(compile(text, path, "exec"), module.__dict__)
    return module
