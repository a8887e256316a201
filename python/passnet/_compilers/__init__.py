"""Compilers as authors, one file each (`docs/reference/compilers.md`).

A file defines `compile(module)`, which returns the function to call instead of the module. It may define `problem(device)`, which returns
the reason why the compiler cannot run on that device, or None.

`python -m passnet._compilers NAME DEVICE [FILE]` prints that reason. It prints nothing if the compiler can run.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passnet._summary import summary


def load(name: str, source: str = "") -> types.ModuleType:
    """Returns the compiler of that name, or the one that `source` defines. Raises `ValueError` if it has no `compile`."""
    if source or name.endswith(".py"):
        module = types.ModuleType(f"passnet_compiler_{Path(name).stem}")
        exec(compile(source, name, "exec"), vars(module))
    else:
        module = importlib.import_module(f"{__name__}.{name}")
    if not callable(getattr(module, "compile", None)):
        raise ValueError(f"{name}: the file has no function `compile(module)`")
    return module


def compiled(name: str, source: str, module: Any) -> Callable[..., Any]:
    """Compiles a module with the compiler of that name and returns the result."""
    return load(name, source).compile(module)


def problem(name: str, device: str, source: str = "") -> str | None:
    """Returns the reason why a compiler cannot run on a device; None if it can."""
    try:
        asked = getattr(load(name, source), "problem", None)
        return asked(device) if asked is not None else None
    # A file of the user, or the import of a compiler, may raise any exception.
    except Exception as error:
        return summary(error)


def missing(package: str, pip: str) -> str | None:
    """Returns a sentence if a package cannot be imported, else None. Compilers that are too old for this PyTorch fail here."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name == package:
            return f"the Python package `{package}` is not installed; pip install {pip}"
        return _not_importable(package, pip, error)
    except Exception as error:
        return _not_importable(package, pip, error)
    return None


def _not_importable(package: str, pip: str, error: Exception) -> str:
    # Compilers follow PyTorch with a delay, and a release names only the oldest PyTorch that it needs.
    try:
        version = f"{pip} {importlib.metadata.version(pip)}"
    except importlib.metadata.PackageNotFoundError:
        version = pip
    pytorch = f"PyTorch {importlib.metadata.version('torch')}"
    return f"the Python package `{package}` cannot be imported ({version}, {pytorch}): {summary(error)}"
