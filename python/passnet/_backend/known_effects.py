"""Keeps the effects of the author's passes on disk. They follow from the text of a pass and the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from passnet import _native
from passnet._backend.cache import Store, key_of
from passnet._backend.contents import text_of_pass
from passnet._backend.effects import Effects, effects_of
from passnet._backend.kinds import kinds_of
from passnet._backend.sharing import memory_of
from passnet._passes.load import Pass

# Changes with the way in which effects are found.
_VERSION = "2"


def known_effects(
    rule: Pass, pattern: Callable[..., Any], values: Sequence[Any], store: Store | None
) -> Effects | None:
    """Returns the effects of a pass's pattern as `effects_of` does, without the operators and results. Reads them from the store if
    an earlier process found them.
    """
    text = text_of_pass(rule)
    if store is None or text is None:
        return effects_of(pattern, values)
    key = key_of("effects", _VERSION, _native.VERSION, torch.__version__, text, kinds_of(values), _sharing_of(values))
    if (found := _effects(store.read(key), len(values))) is None and (found := effects_of(pattern, values)) is not None:
        store.write(key, [sorted(found.mutated), found.is_random])
    return found


def _sharing_of(values: Sequence[Any]) -> str:
    """Returns which values are one tensor, views of one tensor, or in one memory: a write to one of them may also change the others."""
    first: dict[tuple[str, int], int] = {}
    found = []
    for place, value in enumerate(values):
        base = value._base if isinstance(value, torch.Tensor) else None
        known = ("value", id(value)), ("base", id(value if base is None else base)), ("memory", memory_of(value) or 0)
        found.append([first.setdefault(identity, place) for identity in known])
    return str(found)


def _effects(entry: Any, count: int) -> Effects | None:
    """Returns the effects that an entry of a store has; None if the entry does not have the effects of a call with `count` arguments."""
    match entry:
        case [[*places], bool(is_random)] if all(type(place) is int and 0 <= place < count for place in places):
            return Effects(frozenset(places), is_random, (), None)
    return None
