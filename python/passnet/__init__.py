"""PassNet in Python."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Env", "backend", "compile", "extract", "kernels", "load"]


def __getattr__(name: str) -> Any:
    # Imported on demand: torch takes seconds, and a user of one function should not pay for the rest.
    if name == "extract":
        from passnet._capture.capture import extract

        return extract
    if name == "Env":
        from passnet.env import Env

        return Env
    if name == "compile":
        from passnet._compile.compiled import compile

        return compile
    if name == "load":
        from passnet._compile.library import load

        return load
    if name in ("backend", "kernels"):
        return importlib.import_module(f"passnet.{name}")
    raise AttributeError(f"module `passnet` has no attribute `{name}`")
