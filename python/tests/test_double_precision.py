"""Numbers in graphs of `float64`, in kernels of the built-in author for CUDA.

Triton takes a number of Python for a `float32` in comparisons, selections and as an argument of a function, so 0.7 would be rounded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from authored import check_on_cuda, texts

Function = Callable[[torch.Tensor], torch.Tensor]
CASES: dict[str, Function] = {
    "comparisons": lambda x: torch.where((x == 0.7) | (x >= 1.3), 1.0, 2.0) * 3.0,
    "numbers that are chosen": lambda x: torch.where(x > 0, 0.7, x) * 3.0,
    "limits": lambda x: x.clamp(0.1, 0.9) * 3.0,
    "sums and products": lambda x: (x + 0.3) * 0.7,
    "quotients": lambda x: x / 0.7 + 1.0,
    "whole numbers": lambda x: (x + 16777217.0) * 2.0,
}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def _values() -> torch.Tensor:
    return torch.tensor([0.7, 1.3, -0.5, 0.0, 0.1, 0.9, 3.0, 0.699999988079071] * 8, dtype=torch.float64)


def test_numbers_are_not_rounded(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    for name, function in CASES.items():
        (text,) = texts(function, (_values(),), "cuda")
        (tmp_path / f"{name}.py").write_text(text)
    check_on_cuda(__file__, tmp_path)


def check(folder: Path) -> int:
    """Runs each pass; says which results differ."""
    from fused import _stand_in_for_libdevice, load

    if DEVICE == "cpu":
        _stand_in_for_libdevice()
    failures = 0
    x = _values().to(DEVICE)
    for name, function in CASES.items():
        found, expected = load(folder / f"{name}.py", DEVICE).fused(x), function(x)
        # A GPU multiplies by the inverse of a number, which rounds once more.
        if not torch.allclose(found, expected, rtol=1e-15, atol=0):
            print(f"{name}: {found.tolist()[:8]} instead of {expected.tolist()[:8]}")
            failures += 1
    return failures


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])) != 0)
