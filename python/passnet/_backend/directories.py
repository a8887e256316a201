"""Loading of pass directories by the paths that users give."""

from __future__ import annotations

import os

from passnet._backend.omitted import note_omitted
from passnet._backend.process_lock import compiling
from passnet._passes.errors import PassError
from passnet._passes.load import PassDirectory


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
        note_omitted(rule, (directory.path / f"{rule.name}.py").read_bytes())
    return directory
