"""The folder for results that can be made again: compiled kernels, and passes of the author."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "PASSNET_CACHE"


def cache_folder(part: str) -> Path:
    """The folder `part` in that of `PASSNET_CACHE`, else in `passnet` of the user's cache directory, as the command has it."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen, part)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "passnet", part)
