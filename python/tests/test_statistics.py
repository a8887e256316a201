"""Variances and logarithms of sums of exponentials of the built-in author on the CPU, against PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from authored import load, texts

X = torch.randn(6, 5, 37)
INFINITE = torch.tensor([[1.0, float("inf"), 2.0], [-float("inf")] * 3, [float("nan"), 1.0, 2.0]])
CASES = {
    "var": (lambda x: x.var(-1) * 2, X),
    "std of two dimensions": (lambda x: x.std((0, 2), keepdim=True) * 2, X),
    "all": (lambda x: torch.var(x) * 2, X),
    "without correction": (lambda x: x.var(1, unbiased=False) * 2, X),
    "of all, without correction": (lambda x: x.std(False) * 2, X),
    "correction": (lambda x: torch.var(x, dim=-1, correction=3) * 2, X),
    "large and nearly equal": (lambda x: x.std(-1) * 2, X * 1e-3 + 1e4),
    "bfloat16": (lambda x: x.std(-1) * 2, X.bfloat16()),
    "log_softmax": (lambda x: F.log_softmax(x, dim=-1) * 2, X * 20),
    "log_softmax in the middle": (lambda x: x.log_softmax(1) * 2, X),
    "log_softmax to float32": (lambda x: torch.log_softmax(x, -1, dtype=torch.float32) * 2, X.half()),
    "log_softmax, not finite": (lambda x: torch.log_softmax(x, -1) * 2, INFINITE),
    "logsumexp": (lambda x: torch.logsumexp(x, -1) * 2, X * 20),
    "logsumexp of two dimensions": (lambda x: x.logsumexp((0, 2), keepdim=True) * 2, X),
    "logsumexp, not finite": (lambda x: torch.logsumexp(x, -1) * 2, INFINITE),
}


@pytest.mark.parametrize("name", CASES)
def test_statistics_are_those_of_pytorch(name: str, tmp_path: Path):
    function, x = CASES[name]
    (text,) = texts(function, (x,), "cpu")
    pattern = text.split("def pattern")[1].split("def replacement_args")[0]
    assert any(op in pattern for op in ("var(", "std(", "log_softmax(", "logsumexp("))
    found, expected = load(text, tmp_path).fused(x), function(x)
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if x.dtype == torch.bfloat16 else {"rtol": 1e-6, "atol": 1e-6}
    torch.testing.assert_close(found, expected, equal_nan=True, **tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_logsumexp_rounds_as_pytorch_does(dtype: torch.dtype, tmp_path: Path):
    x = torch.rand(8, 64, 64).to(dtype)
    (text,) = texts(lambda x: x.logsumexp(1), (x,), "cpu")
    assert "logsumexp(" in text
    # A sum in another order may round to the other neighbour. With a single rounding at the end, one element of six differed.
    different = (load(text, tmp_path).fused(x) != x.logsumexp(1)).sum()
    assert different <= 8


@pytest.mark.parametrize("dim", [-1, 1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_log_softmax_rounds_as_pytorch_does(dtype: torch.dtype, dim: int, tmp_path: Path):
    x = torch.randn(64, 17, 40).to(dtype)
    (text,) = texts(lambda x: x.log_softmax(dim), (x,), "cpu")
    assert "log_softmax(" in text
    # With one rounding for every dimension, one element of six of the last dimension differed. In few inputs, the sum of a row of 40 lies
    # next to the boundary of two neighbours.
    different = (load(text, tmp_path).fused(x) != x.log_softmax(dim)).sum()
    assert different <= 80


def test_nothing_left_to_divide_by_is_left_to_pytorch():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        passes = texts(lambda x: torch.var(x, dim=-1, correction=37) * 2, (X,), "cpu")
    assert not any("var(" in text for text in passes)
