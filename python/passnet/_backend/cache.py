"""Results of compilation, kept on disk under a hash of all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from passnet._cache_folder import cache_folder


def key_of(*parts: str) -> str:
    """The key of a result that depends on these texts and on nothing else."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        # With their lengths, so that ("ab", "c") and ("a", "bc") have different keys.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Store:
    """A directory of results as JSON. Several processes may use it at once; a damaged file is the same as none."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    @classmethod
    def default(cls) -> Store:
        """The store in the directory of `PASSNET_CACHE`, else in the user's cache directory."""
        return cls(cache_folder("compile"))

    def read(self, key: str) -> Any | None:
        """The result of that key; None if there is none."""
        try:
            content = self._place(key).read_bytes()
        except OSError:
            return None
        digest, _, body = content.partition(b"\n")
        # A process that was killed, or a full disk, leaves a file that is cut off.
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        return json.loads(body)

    def write(self, key: str, value: Any) -> None:
        """Keeps a result. A directory that cannot be written to costs time, not the result."""
        body = json.dumps(value).encode()
        place = self._place(key)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            # Atomic: other processes read and write the same files.
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            os.replace(file.name, place)
        except OSError:
            return

    def _place(self, key: str) -> Path:
        return self.root / key[:2] / f"{key}.json"
