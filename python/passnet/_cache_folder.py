"""The folder for results that PassNet can make again: compiled kernels, and passes that the built-in author wrote."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "PASSNET_CACHE"


def cache_folder(part: str) -> Path:
    """Returns the folder `part` of the cache: in `PASSNET_CACHE`, else in `passnet` in the user's cache directory, as in the command."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen, part)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "passnet", part)
