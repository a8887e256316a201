"""Results that are overwritten: those whose memory nothing else refers to."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest
import torch

from passnet import _native
from passnet._monitor import intercept

HELD = torch.ones(8)


def with_storage_object() -> torch.Tensor:
    made = torch.ones(8)
    made.untyped_storage()
    return made


def two_of_one_storage() -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.ones(8)
    return made, torch.empty(0).set_(made.untyped_storage())


@pytest.mark.parametrize(
    ("make", "is_overwritten"),
    [
        (lambda: (torch.ones(8),), True),
        (lambda: [torch.ones(8), 3, None], True),
        (two_of_one_storage, True),
        (lambda: (with_storage_object(),), True),
        (lambda: (with_storage_object(), torch.ones(3)), True),
        (lambda: (torch.nn.Parameter(torch.ones(8)),), True),
        (lambda: (HELD,), False),
        (lambda: (HELD[:4], HELD[4:]), False),
        (lambda: (HELD.detach(),), False),
    ],
)
def test_only_memory_that_nothing_else_refers_to_is_overwritten(make: Callable[[], Any], is_overwritten: bool):
    result = make()
    address = result[0].data_ptr()
    _native.overwrite(result)
    values = list((ctypes.c_float * 4).from_address(address))
    assert [value > 1e17 for value in values] == [is_overwritten] * 4
    assert HELD.tolist() == [1.0] * 8


def test_each_result_of_several_is_overwritten_unless_it_is_held():
    result = (torch.ones(8), HELD, torch.ones(2, dtype=torch.bool), torch.empty(0), torch.ones(2).to_sparse())
    _native.overwrite(result)
    assert (result[0] > 1e17).all() and result[2].all()
    assert HELD.tolist() == [1.0] * 8
    # Some checked calls get memory with these contents. A byte of `bool` is 0 or 1.
    assert set((ctypes.c_char * 32).from_address(result[0].data_ptr()).raw) == {intercept._LARGE}
    assert bytes((ctypes.c_char * 2).from_address(result[2].data_ptr())) == b"\1\1"
