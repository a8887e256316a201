"""Values that the author's kernels for a CPU store, since they would be computed many times: the results stay those of PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from authored import load, texts

X, IMAGE = torch.randn(64, 256), torch.randn(2, 8, 28, 28)
CASES = {
    "outer": (lambda x: torch.exp(x).unsqueeze(2) * torch.exp(x).unsqueeze(1), X),
    "pairs": (lambda x: (torch.tanh(x).unsqueeze(1) - torch.tanh(x).unsqueeze(0)).abs().sum(-1), X),
    "windows": (lambda x: F.avg_pool2d(F.gelu(x), 5, 1), IMAGE),
    "guarded windows": (lambda x: F.max_pool2d(torch.exp(x), 3, 2, 1), IMAGE),
    "running sum": (lambda x: F.softmax(x, -1).cumsum(-1), X),
    "bfloat16": (lambda x: torch.sin(x).unsqueeze(1).expand(64, 32, 256) + 1, X.bfloat16()),
    "of a stored one": (lambda x: F.gelu(torch.sin(x).unsqueeze(1).expand(64, 32, 256)).repeat(1, 1, 4), X),
}


@pytest.mark.parametrize("name", CASES)
def test_stored_values_are_those_of_pytorch(name: str, tmp_path: Path):
    function, x = CASES[name]
    (text,) = texts(function, (x,), "cpu")
    assert "temp0" in text
    found, expected = load(text, tmp_path).fused(x), function(x)
    assert found.dtype == expected.dtype and found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
