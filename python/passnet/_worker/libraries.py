"""Removes damaged libraries from Inductor's cache.

A worker that is killed while it compiles can leave an incomplete file. Inductor would use this file in all later runs.
"""

from __future__ import annotations

import os
import re
import struct
import time
from pathlib import Path

_HEADER = struct.Struct("<40xQ10xHH")
"""Fields of the header of a 64-bit ELF file: offset of the section table, size of an entry, and number of entries."""
_WRITTEN_SECONDS = 5.0
"""Age in seconds below which another worker may still be writing a file."""


def drop_named(message: str) -> bool:
    """Deletes the library that a loader's message names. Returns whether a library was deleted."""
    cache = re.escape(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "no cache"))
    libraries = [Path(path) for path in re.findall(rf"({cache}/\S+\.so): ", message)]
    for library in libraries:
        library.unlink(missing_ok=True)
    return bool(libraries)


def drop_incomplete() -> None:
    """Deletes incomplete libraries.

    Some of them cause no error: Inductor compiles a library to find out which vector instructions it may use. If this library does
    not load, Inductor uses no vector instructions.
    """
    now = time.time()
    for library in Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "no cache")).rglob("*.so"):
        try:
            if now - library.stat().st_mtime > _WRITTEN_SECONDS and not _is_whole(library):
                library.unlink(missing_ok=True)
        except FileNotFoundError:
            continue


def _is_whole(library: Path) -> bool:
    """Returns whether a file contains its complete section table, which linkers write last."""
    with library.open("rb") as file:
        header = file.read(_HEADER.size)
        size = file.seek(0, os.SEEK_END)
    if len(header) < _HEADER.size:
        return False
    start, entry, number = _HEADER.unpack(header)
    return start + entry * number <= size
