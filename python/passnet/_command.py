"""The location of the command `passnet`, a program that is installed with the package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

BINARY_VARIABLE = "PASSNET_BINARY"


class CommandNotFoundError(RuntimeError):
    """No command `passnet` was found for this interpreter."""


def find_command() -> str:
    """Returns the path of the command: `PASSNET_BINARY`, else the command installed with this package, else the first on the `PATH`.

    Raises :class:`CommandNotFoundError`.
    """
    if chosen := os.environ.get(BINARY_VARIABLE):
        return chosen
    installed = next((path for path in _candidates() if path.is_file()), None)
    found = str(installed) if installed is not None else shutil.which("passnet")
    if found is None:
        raise CommandNotFoundError(f"there is no command `passnet`; install it, or set {BINARY_VARIABLE}")
    return found


def _candidates() -> Iterator[Path]:
    yield Path(sysconfig.get_path("scripts"), "passnet")
    yield Path(sys.executable).with_name("passnet")
    # `pip install --user` and `pip install --target`.
    yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")), "passnet")
    yield Path(__file__).resolve().parents[1] / "bin" / "passnet"
