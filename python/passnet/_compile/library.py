"""Pass libraries: directories of passes that were verified on one machine, with the measurements made there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from passnet import _native
from passnet._compile.api import compile
from passnet._compile.compiled import Compiled
from passnet._compile.report import Specialisation
from passnet._passes.errors import PassError
from passnet._passes.load import ORDER_FILE

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Library:
    """Passes that `passnet optimize` has written for a model."""

    path: Path
    manifest: dict[str, Any]

    def compile(self, model: Callable[..., Any], **options: Any) -> Compiled:
        """Compiles a model with only the passes of the library. `options` are those of `passnet.compile`.

        Calls that the passes were not written for are left to PyTorch.
        """
        return compile(model, passes=self.path, author=None, **options)


def load(directory: str | os.PathLike[str]) -> Library:
    """Opens a pass library. Raises `PassError` if the directory is not a pass library, or if its files differ from its manifest."""
    path = Path(directory).resolve()
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except OSError as error:
        raise PassError("import", None, f"`{path}` is not a pass library: {MANIFEST}: {error.strerror}") from None
    except ValueError as error:
        raise PassError("import", None, f"`{path / MANIFEST}` is not JSON: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("schema_version") != SCHEMA_VERSION:
        raise PassError(
            "import", None, f"`{path / MANIFEST}` has another version than {SCHEMA_VERSION}; update PassNet"
        )
    for name, digest in manifest["files"].items():
        file = path / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise PassError(
                "import", None, f"`{file}` is not the file that the manifest names; write the library again"
            )
    return Library(path, manifest)


def write(directory: Path, specialisations: Iterable[Specialisation], measured: dict[str, Any]) -> int:
    """Writes the passes that have a kept region, and returns their number. `measured` becomes part of the manifest."""
    kept: list[str] = []
    for known in specialisations:
        names = {region.rule for region in known.regions if region.kept}
        kept += [text for name, text in known.texts.items() if name in names and text not in kept]
    files = {f"fuse_{number}.py": text for number, text in enumerate(kept)}
    files[ORDER_FILE] = json.dumps([name.removesuffix(".py") for name in files]) + "\n"
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "passnet": _native.VERSION,
        "torch": torch.__version__,
        "license": "MIT OR Apache-2.0",
        **measured,
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return len(kept)
