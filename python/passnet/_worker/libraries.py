"""Damaged libraries in Inductor's cache.

A worker that is killed while it compiles can leave part of a file, which Inductor would take for a whole one forever.
"""

from __future__ import annotations

import os
import re
import struct
import time
from pathlib import Path

_HEADER = struct.Struct("<40xQ10xHH")
"""Of the header of a 64-bit ELF file: where the table of sections is, the size of an entry, and the number of entries."""
_WRITTEN_SECONDS = 5.0
"""A file that changed this short time ago may be one that another worker is writing."""


def drop_named(message: str) -> bool:
    """Deletes the library that, by the loader's message, could not be loaded; whether there was one."""
    cache = re.escape(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "no cache"))
    libraries = [Path(path) for path in re.findall(rf"({cache}/\S+\.so): ", message)]
    for library in libraries:
        library.unlink(missing_ok=True)
    return bool(libraries)


def drop_incomplete() -> None:
    """Deletes libraries whose end is missing.

    Some of them fail in silence: Inductor compiles a library to find out which vector instructions it may use, and if that does not load, it
    uses none.
    """
    now = time.time()
    for library in Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR", "no cache")).rglob("*.so"):
        try:
            if now - library.stat().st_mtime > _WRITTEN_SECONDS and not _is_whole(library):
                library.unlink(missing_ok=True)
        except FileNotFoundError:
            continue


def _is_whole(library: Path) -> bool:
    """Returns whether the file reaches to the end of its table of sections, which linkers write last."""
    with library.open("rb") as file:
        header = file.read(_HEADER.size)
        size = file.seek(0, os.SEEK_END)
    if len(header) < _HEADER.size:
        return False
    start, entry, number = _HEADER.unpack(header)
    return start + entry * number <= size
