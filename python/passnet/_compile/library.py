"""Pass libraries: directories of passes that were verified on one machine, with the measurements made there."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from passnet import _native
from passnet._backend.directories import MANIFEST
from passnet._compile.api import compile
from passnet._compile.compiled import Compiled
from passnet._compile.parts import parts
from passnet._compile.report import Specialisation
from passnet._passes.errors import PassError
from passnet._passes.load import ORDER_FILE
from passnet._warning import warn

SCHEMA_VERSION = 1
_NAMES = {"passnet": "PassNet", "torch": "PyTorch", "triton": "Triton"}
_PROJECT = """# Makes this directory a Python package: `pip install .`, or `pip wheel --no-deps .` for a wheel.
[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "Passes that `passnet optimize` has written"

[tool.setuptools]
packages = ["{name}"]
package-dir = {{ {name} = "." }}

[tool.setuptools.package-data]
{name} = ["*.json", "directories/**/*"]
"""


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
    """Opens a pass library. Warns if other versions of PassNet, PyTorch or Triton have written it.

    Raises `PassError` if the directory is not a pass library, or if its files differ from its manifest.
    """
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
    if other := _other_versions(manifest):
        warn(
            f"the pass library `{path}` was written with {other}. Its passes are compared with PyTorch and timed at the first call, "
            "unless `verify=False` is given. Run `passnet optimize` with the present versions to get passes for them"
        )
    return Library(path, manifest)


def _other_versions(manifest: dict[str, Any]) -> str:
    """Returns the versions in a manifest that differ from those of this process, as text; an empty text if they are equal."""
    written = {name: manifest[name] for name in _NAMES if name in manifest}
    present = _versions()
    # `2.11.0+cpu` and `2.11.0+cu130` are builds of one version.
    other = [name for name, version in written.items() if _release(version) != _release(present.get(name))]
    theirs, ours = (
        " and ".join(f"{_NAMES[name]} {known[name]}" if name in known else f"no {_NAMES[name]}" for name in other)
        for known in (written, present)
    )
    return f"{theirs}, and this process has {ours}" if other else ""


def _release(version: str | None) -> str:
    return str(version).partition("+")[0]


def _versions() -> dict[str, str]:
    """Returns the versions that the results and times of passes depend on, by the names of the manifest."""
    versions = {"passnet": _native.VERSION, "torch": torch.__version__}
    for package in ("triton", "pytorch-triton"):
        try:
            return versions | {"triton": importlib.metadata.version(package)}
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def write(
    directory: Path, specialisations: Iterable[Specialisation], given: Sequence[str], measured: dict[str, Any]
) -> int:
    """Writes the passes that have a kept region, and returns their number.

    `given` has the pass directories that were applied before the author. `measured` becomes part of the manifest.
    """
    kept: list[str] = []
    used_of: dict[Path, set[str]] = {}
    for known in specialisations:
        used = {region.rule for region in known.regions if region.kept}
        kept += [text for name, text in known.texts.items() if name in used and text not in kept]
        for region in known.regions:
            kind, _, path = region.author.partition(":")
            if region.kept and kind == "dir":
                used_of.setdefault(Path(path).resolve(), set()).add(region.rule)
    files = {f"fuse_{number}.py": text.encode() for number, text in enumerate(kept)}
    files[ORDER_FILE] = (json.dumps([name.removesuffix(".py") for name in files]) + "\n").encode()
    found = parts(given, used_of)
    for part in found:
        files |= {f"{part.path}/{name}": content for name, content in part.files.items()}
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    versions = _versions()
    if not any(b"triton" in content for content in files.values()):
        versions.pop("triton", None)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        **versions,
        "license": "MIT OR Apache-2.0",
        "directories": {part.path: part.as_dict() for part in found},
        **measured,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    # The prefix keeps a library in the directory `torch` from replacing PyTorch.
    package = "passnet_" + re.sub(r"\W", "_", directory.resolve().name, flags=re.ASCII)
    (directory / "pyproject.toml").write_text(_PROJECT.format(name=package))
    return len(kept) + sum(part.passes for part in found)
