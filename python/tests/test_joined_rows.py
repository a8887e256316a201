"""Joined tensors in kernels of the built-in author on the CPU: each element comes from its own piece."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from authored import load, texts


def _joined(x):
    joined = torch.cat([x, x * 2.0, x], 0)
    root = torch.rsqrt(joined.abs() + 1.0)
    padded = torch.nn.functional.pad(root + root, (1, 2))
    return padded, joined + root, (x * 10).long()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("rows", [31, 40])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 17])
def test_pieces_of_short_rows(tmp_path: Path, dtype: torch.dtype, rows: int, width: int) -> None:
    # GCC 12 made wrong code for AVX-512 of such kernels: some rows were of another piece.
    torch.manual_seed(width)
    x = torch.randn(rows, 1, width).to(dtype)
    (text,) = texts(_joined, (x,), "cpu")
    for found, expected in zip(load(text, tmp_path).fused(x), _joined(x), strict=True):
        # Eager mode rounds the root once more in some elements of half types.
        torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
