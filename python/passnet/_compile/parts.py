"""Pass directories of other authors that become parts of a pass library: their kept passes, helper modules and licences."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passnet._backend.directories import MANIFEST, parts_of
from passnet._passes.load import ORDER_FILE

_FOLDER = "directories"
_LICENSE_FILE = re.compile(r"(licen[cs]e|copying|notice)\b.*", re.IGNORECASE)
_SPDX = re.compile(r"^#\s*SPDX-License-Identifier:\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A pass directory within a library."""

    path: str
    """Relative path within the library."""
    passes: int
    """Number of passes in the order of application."""
    files: dict[str, bytes]
    """Contents of the files, by name."""
    license: str | None
    """Licence as an SPDX expression; None if the directory does not state it."""

    def as_dict(self) -> dict[str, Any]:
        """Returns what the manifest says of the directory."""
        return {"license": self.license, "license_files": [name for name in self.files if _LICENSE_FILE.match(name)]}


def parts(directories: Sequence[str], kept: Mapping[Path, Collection[str]]) -> list[Part]:
    """Returns the parts for pass directories, in order of application. `kept` has the names of the passes that have a kept region, by
    the directory of the pass without symbolic links.

    A directory without such a pass has no part. The directories within a given library become parts of their own.
    """
    found: list[Part] = []
    for directory in directories:
        for path, stated in _with_nested(Path(directory)):
            order = [name.removesuffix(".py") for name in json.loads((path / ORDER_FILE).read_text())]
            names = [name for name in order if name in kept.get(path.resolve(), ())]
            if not names:
                continue
            folder, number = f"{_FOLDER}/{path.resolve().name}", 2
            while any(part.path == folder for part in found):
                folder, number = f"{_FOLDER}/{path.resolve().name}_{number}", number + 1
            files = _texts(path, names, set(order) - {*names})
            license = _license(files) or stated
            files |= {
                file.name: file.read_bytes()
                for file in sorted(path.iterdir())
                if file.is_file() and file.suffix != ".py" and _LICENSE_FILE.fullmatch(file.name)
            }
            files[ORDER_FILE] = (json.dumps(names) + "\n").encode()
            found.append(Part(folder, len(names), files, license))
    return found


def _with_nested(directory: Path) -> Iterator[tuple[Path, str | None]]:
    """Yields the pass directories within a library and the directory itself, each with the licence that the manifest states."""
    for name, said in parts_of(directory).items():
        yield directory / name, said.get("license")
    try:
        license = json.loads((directory / MANIFEST).read_text())["license"]
    # Not a library, or a file of another program.
    except (OSError, ValueError, KeyError, TypeError):
        license = None
    yield directory, license if isinstance(license, str) else None


def _texts(path: Path, names: Sequence[str], unused: set[str]) -> dict[str, bytes]:
    """Returns the texts of passes and of the modules of the directory that they may import. `unused` has the names of the other passes."""
    texts = {file.stem: file.read_bytes() for file in sorted(path.glob("*.py"))}
    wanted = [name for name in texts if name not in unused]
    # A pass may also use another pass as a module. A text that only mentions its name does no harm.
    for name in wanted:
        said = set(re.findall(rb"\w+", texts[name]))
        wanted += [other for other in texts if other not in wanted and other.encode() in said]
    return {f"{name}.py": texts[name] for name in wanted}


def _license(files: dict[str, bytes]) -> str | None:
    """Returns the licences that Python files name in a comment, as one SPDX expression."""
    found = sorted({name for text in files.values() for name in _SPDX.findall(text.decode("utf-8", "replace"))})
    if len(found) < 2:
        return found[0] if found else None
    return " AND ".join(f"({name})" if " " in name else name for name in found)
