"""Functions of the built-in author on the CPU, on numbers of all sizes: their errors are those of eager mode (`fuzz/extremes.py`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

_PATH = Path(__file__).parents[2] / "fuzz" / "extremes.py"
_SPEC = importlib.util.spec_from_file_location("extremes", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
extremes = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(extremes)


@pytest.mark.parametrize("dtype", extremes.FLOATS)
def test_functions_of_one_number(dtype: torch.dtype):
    assert extremes.of_one(dtype, 12_000) == []


@pytest.mark.parametrize("dtype", extremes.FLOATS)
def test_functions_of_two_numbers(dtype: torch.dtype):
    assert extremes.of_two(dtype, 200) == []
