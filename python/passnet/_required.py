"""A check that programs make before they import PyTorch."""

from __future__ import annotations

import importlib
import sys

_NEEDED = ("torch", "torch._dynamo", "torch.fx", "numpy")


def torch_problem(*, native: bool = False) -> str | None:
    """Returns why PyTorch cannot be imported and how to fix that; None if it can be imported. With `native`, checks the extension module too."""
    for name in (*_NEEDED, "passnet._native") if native else _NEEDED:
        try:
            importlib.import_module(name)
        # An installation that is too old or damaged can fail in any way.
        except Exception as error:
            package = name.partition(".")[0]
            if isinstance(error, ModuleNotFoundError) and error.name == package:
                problem = f"has no package `{package}`"
            elif package == "passnet":
                # The sources are there, but the extension module was not built or is for another machine.
                problem = f"cannot import `{name}` ({type(error).__name__}: {error})"
                return f"{sys.executable} {problem}; install PassNet there again, or set PASSNET_PYTHON to another interpreter"
            else:
                problem = (
                    f"cannot import `{name}` ({type(error).__name__}: {error}); PassNet needs PyTorch 2.6 or newer"
                )
            return f"{sys.executable} {problem}; install it there, or set PASSNET_PYTHON to an interpreter that has it"
    return None
