"""Options of `passnet.compile`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# Largest number of kinds of calls that are captured. Equal to Dynamo's default limit of recompilations.
DEFAULT_LIMIT = 8


@dataclass(frozen=True)
class Options:
    """Options of one model. `passnet.compile` documents them."""

    passes: tuple[str, ...] = ()
    author: str | None = "fuse"
    cuda_graphs: bool | Literal["auto"] = False
    verify: bool = True
    freeze: bool = False
    training: bool = True
    then: str | None = None
    cache_dir: str | None = None
    limit: int = DEFAULT_LIMIT
    times_rest: bool = False
    """Times the operations outside regions too, for `passnet optimize`."""

    @classmethod
    def of(cls, passes: Paths, **options: Any) -> Options:
        """Makes options from the arguments of a user. Raises `ValueError` for an invalid value."""
        if isinstance(passes, (str, os.PathLike)):
            passes = (passes,)
        made = cls(passes=tuple(os.path.abspath(path) for path in passes), **options)
        if made.author not in ("fuse", None):
            raise ValueError(f"there is no author `{made.author}`; use 'fuse' or None")
        if made.then not in ("inductor", None):
            raise ValueError(f"`then` is {made.then!r}; use 'inductor' or None")
        if made.cuda_graphs not in (True, False, "auto"):
            raise ValueError(f"`cuda_graphs` is {made.cuda_graphs!r}; use True, False or 'auto'")
        if made.limit < 1:
            raise ValueError(f"`limit` is {made.limit}; at least one kind of call has to be captured")
        return made

    def of_inference(self) -> str:
        """Returns the names of the options that are set but do not apply to calls that require gradients, as text."""
        set_options = {"freeze": self.freeze, "cuda_graphs": self.cuda_graphs, "then": self.then}
        return ", ".join(f"`{name}={value!r}`" for name, value in set_options.items() if value)
