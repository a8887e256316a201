"""Normalisations of rows whose elements are all equal, in kernels of the built-in author next to eager mode.

Eager mode finds no deviation in such a row. A mean that is off by one rounding deviates, and each normalisation multiplies that by up
to 316.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from authored import check_on_cuda, load, texts

F = torch.nn.functional
Function = Callable[[torch.Tensor], torch.Tensor]
# 2 * 41 times the rounded inverse of 41 is not 2.
CASES: dict[str, tuple[Function, tuple[int, ...]]] = {
    "layer_norm": (lambda x: F.layer_norm(x, (41,)) * 2.0, (8, 41)),
    "group_norm": (lambda x: F.group_norm(x, 2) * 2.0, (3, 4, 41)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True) * 2.0, (41, 3)),
    "var": (lambda x: x.var(-1) * 1e12, (8, 82)),
    "long rows": (lambda x: F.layer_norm(x, (82, 1640)) * 2.0, (1, 82, 1640)),
}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("name", CASES)
def test_equal_elements_do_not_deviate(name: str, tmp_path: Path) -> None:
    function, shape = CASES[name]
    (text,) = texts(function, (torch.full(shape, 2.0),), "cpu")
    assert not load(text, tmp_path).fused(torch.full(shape, 2.0)).any()


def test_equal_elements_do_not_deviate_on_cuda(tmp_path: Path) -> None:
    for name, (function, shape) in CASES.items():
        (text,) = texts(function, (torch.full(shape, 2.0),), "cuda")
        (tmp_path / f"{name}.py").write_text(text)
    check_on_cuda(__file__, tmp_path)


def check(folder: Path) -> int:
    """Runs each pass; says which results are not 0."""
    from fused import _stand_in_for_libdevice
    from fused import load as load_for

    if DEVICE == "cpu":
        _stand_in_for_libdevice()
    failures = 0
    for name, (_, shape) in CASES.items():
        found = load_for(folder / f"{name}.py", DEVICE).fused(torch.full(shape, 2.0, device=DEVICE))
        if found.any():
            print(f"{name}: up to {found.abs().max().item()}")
            failures += 1
    return failures


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])) != 0)
