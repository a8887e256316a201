"""PassNet in Python."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Compiled", "Env", "Library", "backend", "compile", "extract", "kernels", "load"]


def __getattr__(name: str) -> Any:
    # Imported on demand: torch takes seconds, and a user of one function should not pay for the rest.
    if name == "extract":
        from passnet._capture.capture import extract

        return extract
    if name == "Env":
        from passnet.env import Env

        return Env
    if name in ("compile", "Compiled"):
        from passnet._compile.api import compile
        from passnet._compile.compiled import Compiled

        return compile if name == "compile" else Compiled
    if name in ("load", "Library"):
        from passnet._compile.library import Library, load

        return load if name == "load" else Library
    if name in ("backend", "kernels"):
        return importlib.import_module(f"passnet.{name}")
    raise AttributeError(f"module `passnet` has no attribute `{name}`")
