"""`passnet.compile` leaves the collector of garbage as it was."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch

import passnet
from passnet._compile.collection import without_old_objects


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def is_unfrozen() -> bool:
    """Returns whether no objects are frozen, except immortal ones: since Python 3.12, collections freeze these."""
    return gc.get_freeze_count() < 10_000


class Ring:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_objects_that_exist_are_left_out_and_new_ones_are_collected():
    gc.collect()  # Otherwise the collector might run before the objects are frozen.
    old = weakref.ref(Ring())
    with without_old_objects():
        new = weakref.ref(Ring())
        gc.collect()
        assert old() is not None and new() is None
    gc.collect()
    assert old() is None and is_unfrozen()


def test_objects_of_a_capture_are_left_out_until_the_end():
    with without_old_objects() as left_out:
        with left_out.new_objects():
            of_capture = weakref.ref(Ring())
            assert not gc.isenabled()
        assert gc.isenabled()
        new = weakref.ref(Ring())
        gc.collect()
        assert of_capture() is not None and new() is None
    gc.collect()
    assert of_capture() is None and is_unfrozen()


def test_immortal_objects_are_no_objects_that_a_program_froze(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 375)
    old = weakref.ref(Ring())
    with without_old_objects():
        gc.collect()
        assert old() is not None


def test_a_program_that_disabled_the_collector_finds_it_disabled():
    gc.disable()
    try:
        with without_old_objects() as left_out, left_out.new_objects():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_objects_that_a_program_froze_stay_frozen():
    gc.freeze()
    count = gc.get_freeze_count()
    with without_old_objects() as left_out, left_out.new_objects():
        assert gc.isenabled()
    # Some of them may be freed in the meantime, because nothing refers to them.
    assert gc.get_freeze_count() > count // 2 > 0


def test_a_compilation_and_one_that_fails_freeze_nothing():
    passnet.compile(torch.relu)(torch.ones(3))
    assert is_unfrozen()

    def fails(_: torch.Tensor) -> torch.Tensor:
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        passnet.compile(fails)(torch.ones(3))
    assert is_unfrozen()
