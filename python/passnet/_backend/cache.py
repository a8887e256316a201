"""A store of compilation results on disk. The key of a result is a hash of all texts that it depends on."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from passnet._cache_folder import cache_folder


def key_of(*parts: str) -> str:
    """Returns the key of a result that depends on these texts and on nothing else."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        # The lengths are hashed too, so that ("ab", "c") and ("a", "bc") have different keys.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Store:
    """A directory of results as JSON. Several processes may use it at the same time. A damaged file counts as missing."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    @classmethod
    def default(cls) -> Store:
        """Returns the store in `PASSNET_CACHE`, else in the user's cache directory."""
        return cls(cache_folder("compile"))

    def read(self, key: str) -> Any | None:
        """Returns the result of a key; None if there is none."""
        try:
            content = self._place(key).read_bytes()
        except OSError:
            return None
        digest, _, body = content.partition(b"\n")
        # A killed process or a full disk leaves a truncated file.
        if hashlib.sha256(body).hexdigest().encode() != digest:
            return None
        try:
            return json.loads(body)
        # A text may be nested too deeply.
        except (ValueError, RecursionError):
            return None

    def write(self, key: str, value: Any) -> None:
        """Writes a result. If the directory cannot be written, the result is computed again next time; this is no error."""
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
