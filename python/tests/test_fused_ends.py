"""Ends of rows, strided elements and interpolations in kernels of the built-in author on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from authored import load, texts

_TYPES = [torch.float32, torch.bfloat16, torch.float16]
_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}
_functional = torch.nn.functional


def _check(tmp_path: Path, function: Callable[..., Any], *arguments: torch.Tensor) -> None:
    """Compares the single pass of a function with the function."""
    (text,) = texts(function, arguments, "cpu")
    found = load(text, tmp_path).fused(*(value.clone() for value in arguments))
    tolerance = _TOLERANCE[arguments[0].dtype]
    expected = function(*(value.clone() for value in arguments))
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("width", [15, 16, 17, 28, 33, 64])
def test_ends_of_rows(tmp_path: Path, dtype: torch.dtype, width: int) -> None:
    torch.manual_seed(width)
    x = torch.randn(2, 3, 5, width).to(dtype)
    _check(tmp_path, lambda x: _functional.pad(_functional.hardswish(x * 2.0), (1, 2)), x)


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("width", [16, 29])
def test_an_input_that_is_overwritten(tmp_path: Path, dtype: torch.dtype, width: int) -> None:
    # The end of a row must not read elements that it has already changed.
    x = torch.randn(3, width).to(dtype)
    function = lambda x: x.mul_(3.0).add_(1.0)  # noqa: E731
    (text,) = texts(function, (x.clone(),), "cpu")
    changed, expected = x.clone(), x.clone()
    load(text, tmp_path).fused(changed)
    torch.testing.assert_close(changed, function(expected))


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
def test_pieces_that_are_copied_keep_their_bits(tmp_path: Path, dtype: torch.dtype) -> None:
    x = torch.randn(4, 40).to(dtype)
    x[0, 0], x[1, 39] = torch.nan, -torch.inf
    y = torch.randn(4, 18).to(dtype)
    function = lambda x, y: torch.cat((x, y), -1)  # noqa: E731
    (text,) = texts(function, (x, y), "cpu")
    found, expected = load(text, tmp_path).fused(x, y), function(x, y)
    assert torch.equal(found.view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("width", [8, 38, 64])
def test_pieces_of_one_element(tmp_path: Path, dtype: torch.dtype, width: int) -> None:
    def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return x * cosine + turned * sine

    torch.manual_seed(width)
    _check(tmp_path, rotated, *(torch.randn(shape).to(dtype) for shape in [(2, 3, 7, width), (7, width), (7, width)]))


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize(
    ("size", "to"), [((32, 32), (64, 64)), ((19, 40), (40, 33)), ((40, 17), (20, 60)), ((1, 64), (48, 64))]
)
def test_interpolation(
    tmp_path: Path, dtype: torch.dtype, aligned: bool, size: tuple[int, int], to: tuple[int, int]
) -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 5, *size).to(dtype)
    # With another operation, because a sum in eager mode rounds the result of a half type first.
    _check(tmp_path, lambda x: _functional.interpolate(x, to, mode="bilinear", align_corners=aligned) * 0.5, x)


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("channels", [3, 5])
def test_interpolation_has_the_bits_of_the_general_kernel(
    tmp_path: Path, dtype: torch.dtype, aligned: bool, channels: int
) -> None:
    torch.manual_seed(1)
    x = torch.randn(2, channels, 20, 30).to(dtype)
    if channels == 3:
        x = x.contiguous(memory_format=torch.channels_last)
    function = lambda x: _functional.interpolate(x, (40, 89), mode="bilinear", align_corners=aligned) * 0.5  # noqa: E731
    (text,) = texts(function, (x,), "cpu")
    assert "interpolate" in text
    # With weights in `float32`, every second element of a half type differed.
    found, expected = load(text, tmp_path).fused(x), function(x)
    if dtype == torch.float32 and not aligned:
        # PyTorch 2.15 rounds a product that PyTorch 2.11 does not round.
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    else:
        assert torch.equal(found, expected)


@pytest.mark.parametrize("width", [16, 100, 1000])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_extremes_of_rows_with_nan(tmp_path: Path, width: int, name: str) -> None:
    torch.manual_seed(width)
    x = torch.randn(9, width)
    for row, place in enumerate([0, 1, 5, 15, width // 2, width - 1]):
        x[row, place] = torch.nan
    _check(tmp_path, lambda x: getattr(x * 2.0, name)(-1), x)


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("width", [7, 16, 37, 50])
@pytest.mark.parametrize("integer", [torch.int64, torch.int32, torch.uint8], ids=str)
def test_masks_of_integers(tmp_path: Path, dtype: torch.dtype, width: int, integer: torch.dtype) -> None:
    def masked(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = (x * 0.5).masked_fill(mask <= 0, -1000.0)
        return torch.softmax(hidden + (1.0 - mask.to(dtype)) * -100.0, -1)

    torch.manual_seed(width)
    x = torch.randn(2, 3, 5, width).to(dtype)
    _check(tmp_path, masked, x, torch.randint(0, 3, (2, 1, 5, width)).to(integer))


def test_large_integers_are_compared_exactly(tmp_path: Path) -> None:
    # As a float, a large integer may equal its neighbour.
    x = torch.tensor([[-(2**23), 2**23, 2**23 + 1, 2**24 + 1, 2**40 + 1, -(2**62) - 1, 0, 1] * 5])

    def compared(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x == 2**23, x < 2**23, x <= -(2**23), x == 2**24, x.float() * 0.5

    (text,) = texts(compared, (x,), "cpu")
    for found, expected in zip(load(text, tmp_path).fused(x), compared(x), strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("width", [15, 40])
def test_overlapping_windows(tmp_path: Path, dtype: torch.dtype, width: int) -> None:
    torch.manual_seed(width)
    x = torch.randn(2, 7, width, width).to(dtype)
    x[0, 0, 3, 4], x[1, 2, 5] = torch.nan, -torch.inf
    _check(tmp_path, lambda x: _functional.max_pool2d(x * 2.0, 3, 2, 1), x)
    _check(tmp_path, lambda x: _functional.max_pool2d(x, 5, 1, 2), x)
    _check(tmp_path, lambda x: _functional.avg_pool2d(_functional.relu(x), 3, 1, 1), x)
    _check(tmp_path, lambda x: _functional.avg_pool2d(x, (3, 2), (1, 2), 1, False, False), x)


def test_sums_of_elements_that_are_not_in_the_order_of_memory(tmp_path: Path) -> None:
    """GCC 11 and 12 generate wrong code for such loops if they vectorise them."""
    torch.manual_seed(0)
    x, y, weight = torch.randn(16, 8, 8, 2), torch.randn(8, 1), torch.randn(8)
    _check(tmp_path, lambda x, y, weight: _functional.group_norm(x.roll(1, -1) + y, 2, weight), x, y, weight)


@pytest.mark.parametrize("width", [16, 31, 64])
def test_a_row_that_is_kept_in_memory_is_read_in_a_branch(tmp_path: Path, width: int) -> None:
    # The scaled elements are kept in a row for the exponentials, which are computed again where nothing overwrites them.
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        factors = x * x / 3.0
        shares = torch.softmax(torch.addcmul(y, y, factors, value=0.3), -1)
        shares[0].fill_(0.5)
        return shares

    _check(tmp_path, function, torch.randn(5, 2, width), torch.randn(5, 2, width))
