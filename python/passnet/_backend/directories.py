"""Loading of pass directories by the paths that users give."""

from __future__ import annotations

import json
import os
from typing import Any

from passnet._backend.contents import DIRECTORY
from passnet._backend.omitted import note_omitted
from passnet._backend.process_lock import compiling
from passnet._passes.errors import PassError
from passnet._passes.load import PassDirectory

MANIFEST = "manifest.json"
"""Name of the file that makes a pass directory a pass library."""


def parts_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the pass directories within a pass library by their relative paths, in order of application, with what its manifest says
    of each. A directory that is no library has none.
    """
    try:
        with open(os.path.join(path, MANIFEST), encoding="utf-8") as file:
            parts = json.load(file)["directories"]
    # Another program may have written a file of this name.
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return parts if isinstance(parts, dict) else {}


def load_directories(path: str) -> list[PassDirectory]:
    """Returns the pass directories at a path in order of application: those within a pass library, then the path itself.

    Raises `PassError`.
    """
    return [*(load_directory(os.path.join(path, part)) for part in parts_of(path)), load_directory(path)]


def load_directory(path: str) -> PassDirectory:
    """Returns the pass directory at a path. Raises `PassError`, whose message names the path."""
    if not os.path.isdir(path):
        raise PassError("import", None, f"there is no pass directory `{path}`")
    try:
        with compiling:
            directory = PassDirectory.load(path)
    except PassError as error:
        raise PassError(error.stage, error.rule, f"pass directory `{path}`: {error}") from error.__cause__
    for rule in directory.passes:
        vars(rule)[DIRECTORY] = directory.path
        note_omitted(rule, (directory.path / f"{rule.name}.py").read_bytes())
    return directory
