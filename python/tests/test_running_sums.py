"""Cumulative sums of the built-in author on the CPU: the bits of PyTorch, in as many steps as elements."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from authored import load, texts

X = torch.randn(6, 5, 37)
SPECIAL = torch.tensor([[1.0, float("inf"), 2.0, -float("inf"), 3.0], [float("nan"), 1.0, -0.0, 3.0, 4.0]])
CASES = {
    "last dimension": (lambda x: (x * 2).cumsum(-1) - 1, X),
    "first dimension": (lambda x: torch.cumsum(x * 2, 0) - 1, X),
    "double": (lambda x: (x * 2).cumsum(1) - 1, X.double()),
    "bfloat16": (lambda x: (x * 2).cumsum(1) - 1, X.bfloat16()),
    "float16 of float32": (lambda x: x.cumsum(-1, dtype=torch.float16) * 2, X),
    "not finite": (lambda x: (x * 2).cumsum(-1) + 1, SPECIAL),
    "int32": (lambda x: (x * 2).cumsum(-1) - 1, torch.randint(-9, 9, (7, 33), dtype=torch.int32)),
    "count": (lambda x: x.cumsum(-1, dtype=torch.float32) * 2, X > 0),
    "one after the other": (lambda x: (x * 2).cumsum(-1).cumsum(0) - 1, X),
    "along two dimensions": (lambda x: x.cumsum(-1) + x.cumsum(0), X),
    "joined rows": (lambda x: torch.cat([x, x * 2], -1).cumsum(-1) + 1, X),
    "backwards": (lambda x: x.flip(-1).cumsum(-1).flip(-1) + 1, X),
    "other order of dimensions": (lambda x: (x * 2).transpose(1, 2).cumsum(-1) + 1, X),
    "in several parts": (lambda x: torch.relu(x).cumsum(-1).neg(), torch.randn(6, 10_000)),
}


@pytest.mark.parametrize("name", CASES)
def test_sums_have_the_bits_of_pytorch(name: str, tmp_path: Path):
    function, x = CASES[name]
    (text,) = texts(function, (x,), "cpu")
    assert "cumsum" in text.split("def pattern")[1].split("def replacement_args")[0]
    # A loop over all elements before each one would ask which of them count.
    assert " <= v" not in text
    found, expected = load(text, tmp_path).fused(x), function(x)
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("count", [14, 35, 350])
def test_a_rounding_between_doubles_is_kept(count: int, tmp_path: Path):
    def function(a, b, c):
        return (a.float().double() + b.float().double() + c.float().double()).float() - 1

    values = tuple(torch.randn(count, dtype=torch.float64) * 20 for _ in range(3))
    (text,) = texts(function, values, "cpu")
    assert '"-fno-tree-slp-vectorize"' in text
    assert torch.equal(load(text, tmp_path).fused(*values), function(*values))
