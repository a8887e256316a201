"""Operations whose results in kernels of the built-in author equal eager mode in every bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from authored import load, texts

_DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
_FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_functional = torch.nn.functional
_aten = torch.ops.aten
_SHAPE = (3, 4, 5, 17)
_END = 9223372036854775807

_OF_FLOATS: dict[str, Callable[..., Any]] = {
    "isnan": lambda x: torch.where(torch.isnan(x), 1.0, 2.0),
    "isinf": lambda x: torch.where(torch.isinf(x), 1.0, 2.0),
    "isfinite": lambda x: torch.where(torch.isfinite(x), 1.0, 2.0),
    "cubes": lambda x: x.pow(3).float() * 0.5,
    "inverse squares": lambda x: x.pow(-2).float() * 0.5,
    "constants": lambda x: torch.full_like(x, 0.7).square().float() + x,
    "nan_to_num": lambda x: torch.nan_to_num(x) * 0.5,
    "nan_to_num with numbers": lambda x: torch.nan_to_num(x, 1.5, 2.5, -9.5) * 0.5,
    "nan_to_num that leaves infinities": lambda x: x.nan_to_num(0.25, torch.inf, -torch.inf) * 0.5,
    "round": lambda x: torch.round(x) * 0.5,
    "frac": lambda x: torch.frac(x) * 2.0,
    "threshold": lambda x: torch.threshold(x, 0.25, 20.0) * 2.0,
    "hardshrink": lambda x: _functional.hardshrink(x) * 2.0,
    "hardshrink at 0.7": lambda x: _functional.hardshrink(x, 0.7) * 2.0,
    "softsign": lambda x: _functional.softsign(x) * 2.0,
    "logical_xor": lambda x: torch.where(torch.logical_xor(x, x - x), 1.0, 2.0),
    "addcdiv": lambda x: torch.addcdiv(x, x.flip(1), x.flip(0)) * 2.0,
    "addcdiv with a factor": lambda x: torch.addcdiv(x, x.flip(1), x.flip(0), value=-0.3) * 2.0,
    "lerp from the start": lambda x: torch.lerp(x, x.flip(0), 0.1) + torch.lerp(x.flip(1), x, -0.4) * 2.0,
    "lerp from the end": lambda x: torch.lerp(x, x.flip(0), 0.7) + x.lerp(x.flip(1), 1.3) * 2.0,
    "lerp in the middle": lambda x: torch.lerp(x, x.flip(0), 0.49999999999) + torch.lerp(x, x.flip(1), 0) * 2.0,
    "threshold_backward": lambda x: _aten.threshold_backward.default(x.flip(0), x, 0) * 2.0,
    "dropout_backward": lambda x: _aten.native_dropout_backward.default(x, x > 0, 1.1111111111111112) * 2.0,
    "operators": lambda x: _aten.relu.default(_aten.mul.Tensor(_aten.add.Tensor(x, 1.5), x)),
    "second names": lambda x: torch.subtract(x, 1.5).divide(2.0).absolute(),
    "comparisons": lambda x: torch.where(torch.greater(x, 0.5) | torch.less_equal(x, -1), 1.0, 2.0),
    "comparisons with rounded numbers": lambda x: torch.where((x == 0.7) | (x > 257), 1.0, 2.0),
    "padding with a number": lambda x: _functional.pad(x, (1, 2), value=-0.3) * 0.7,
}
# Kernels for CUDA contract a product and a sum of `float64` to one operation, which rounds once; quotients by numbers are products.
_CONTRACTED: dict[str, Callable[..., Any]] = {"a number by elements": lambda x: (0.3 / x) / 0.7 - 1 / x}
# For half types, eager mode on CPUs rounds these numbers to the type. On CUDA, it computes with the number itself.
_NUMBERS: dict[str, Callable[..., Any]] = {
    "sums with numbers": lambda x: (x + 0.3).float() * (x - 0.7).float(),
    "numbers first": lambda x: (0.3 + x).float() * (0.7 - x).float() + torch.rsub(x, 257).float(),
    "products with numbers": lambda x: (x * 0.3).float() * (x / 0.7).float(),
}
_OF_ALL: dict[str, Callable[..., Any]] = {
    "diff": lambda x: torch.diff(x) * 2,
    "diff of rows": lambda x: torch.diff(x, dim=-2, append=x[..., :1, :]) * 2,
    "diff with a start": lambda x: torch.diff(x, prepend=x[..., :1], dim=-1) * 2,
    "cut": lambda x: _functional.pad(x + 1, (-2, 3, 1, -2)),
    "cut at both ends": lambda x: _functional.pad(x + 1, (-1, -1)),
    "constant_pad_nd": lambda x: _aten.constant_pad_nd.default(x + 1, [0, 3, -1, 0], 5),
    "slices": lambda x: _aten.slice.Tensor(x, 1, 1, None, 2) * _aten.slice.Tensor(x, -3, 0, -1, 2),
    "slice_backward": lambda x: _aten.slice_backward.default(x + 1, [3, 4, 5, 34], 3, 1, _END, 2) * 2,
    "select_backward": lambda x: _aten.select_backward.default(x + 1, [3, 4, 2, 5, 17], 2, -1) * 2,
    "stacked": lambda x: _aten.stack.default([_aten.roll.default(x + 1, [-3, 2], [2, 1]), x], -3) * 2,
    "flattened": lambda x: torch.ravel(x + 1).subtract(2),
    "swapped": lambda x: torch.swapdims(x + 1, 0, 1) * 2,
    "joined": lambda x: torch.concatenate([x + 1, x], 1) * 2,
    "pixel_shuffle": lambda x: torch.pixel_shuffle(x + 1, 2) * 2,
    "pixel_unshuffle": lambda x: torch.pixel_unshuffle((x + 1)[..., :4, :6], 2) * 2,
    "channel_shuffle": lambda x: torch.channel_shuffle(x + 1, 2) * 2,
}
# On CUDA, these stay with PyTorch unless the type is `float16`.
_RESTS: dict[str, Callable[..., Any]] = {
    "fmod by numbers": lambda x: torch.fmod(x, 1.7) * torch.fmod(x, -3),
    "fmod by 0": lambda x: torch.fmod(x, 0) * 2.0,
    "remainder by numbers": lambda x: torch.remainder(x, 2049) * (x % -1.1),
    "remainder by infinities": lambda x: (x % torch.inf) + torch.remainder(x, -torch.inf) * 2.0,
}
# In other types, these stay with PyTorch.
_OF_HALVES: dict[str, Callable[..., Any]] = {
    "fmod": lambda x: torch.fmod(x, x.flip(0)) * 2.0,
    "fmod by a number below 1": lambda x: torch.fmod(x, 0.7) * 2.0,
    "remainder": lambda x: torch.remainder(x, x.flip(0)) * 2.0,
    "remainder of a number": lambda x: torch.remainder(0.7, x) * 2.0,
}
_OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "floor division": lambda x: (x // 3) * 2,
    "truncated division": lambda x: torch.div(x, 7, rounding_mode="trunc") * 2,
    "rounded division": lambda x: torch.floor_divide(x, 5) + torch.div(x, 2, rounding_mode="floor"),
    "rests": lambda x: torch.fmod(x, 7) * 2 + x % 5,
}
_OF_SIGNED: dict[str, Callable[..., Any]] = {
    "negative divisors": lambda x: (x // -7) + torch.div(x, -3, rounding_mode="trunc") * 2,
    "negative rests": lambda x: torch.fmod(x, -7) * 2 + torch.remainder(x, -5),
}
_OF_WIDE: dict[str, Callable[..., Any]] = {
    "sums with factors": lambda x: torch.add(x, x.flip(0), alpha=0.3) + torch.sub(x, x.flip(1), alpha=-1.7) * 2.0,
    "differences the other way": lambda x: torch.rsub(x, x.flip(0)) + torch.rsub(x, x.flip(1), alpha=0.7) * 2.0,
}
# These stay with PyTorch on CUDA.
_DIVISIONS: dict[str, Callable[..., Any]] = {
    "floor": lambda x: torch.div(x * 5, x.flip(0), rounding_mode="floor") * 2.0,
    "floor by numbers": lambda x: (x // 0.7) + torch.floor_divide(x, -2),
    "trunc": lambda x: torch.div(x * 5, x.flip(0), rounding_mode="trunc") * 2.0,
    "trunc by a number": lambda x: torch.div(x, -0.3, rounding_mode="trunc") * 2.0,
}
# Operations that stay with PyTorch, in some types.
_LEFT: dict[str, tuple[Callable[..., Any], tuple[torch.dtype, ...]]] = {
    # Eager mode compares with a limit that it rounds on CUDA only.
    "threshold(": (lambda x: torch.threshold(x * 2.0, 0.1, 20.0) * 2.0, (torch.bfloat16, torch.float16)),
    # The sign of a zero depends on the place of the element.
    "softshrink(": (lambda x: _functional.softshrink(x * 2.0) * 2.0, _FLOATS),
    "lerp(": (lambda x: torch.lerp(x * 2.0, x + 1.0, 1) * 2.0, _FLOATS),
    # Eager mode gives NaN where the quotient overflows, except for the last elements of a row.
    "fmod(": (
        lambda x: torch.fmod(x * 2.0, x + 1.0) * torch.fmod(x * 2.0, 0.7),
        (torch.float32, torch.bfloat16, torch.float64),
    ),
    # Eager mode raises an error if an element of the divisor is 0, and may if the quotient overflows.
    "remainder(": (
        lambda x: torch.remainder(x * 2, x * 2 + 1) * torch.remainder(x * 2, -1) * torch.remainder(x + 1, True),
        _INTEGERS,
    ),
    # Eager mode divides by the number that the type has instead.
    "floor_divide(": (lambda x: torch.floor_divide(x * 2, 257) * 2, (torch.int8, torch.uint8)),
    # Eager mode rounds the product, or the quotient, too.
    "sub(": (lambda x: torch.sub(x * 2.0, x + 1.0, alpha=0.3) * 2.0, (torch.bfloat16, torch.float16)),
    "div(": (lambda x: torch.div(x * 2.0, x, rounding_mode="floor") * 2.0, (torch.bfloat16, torch.float16)),
}


def _laid_out(x: torch.Tensor, layout: str) -> torch.Tensor:
    """The same elements with other strides, or those of the first image for all images."""
    if layout == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "channels last":
        return x.contiguous(memory_format=torch.channels_last)
    if layout == "sliced":
        return x.repeat_interleave(2, -1)[..., ::2]
    if layout == "expanded":
        return x[:1].expand(x.shape)
    if layout == "unaligned":
        return torch.cat([x.flatten()[:1], x.flatten()])[1:].view(x.shape)
    return x


def _special(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random numbers, halves, and numbers at which functions change."""
    torch.manual_seed(len(shape))
    if not dtype.is_floating_point:
        x = torch.randint(0 if dtype == torch.uint8 else -100, 100, shape).to(dtype)
        x.view(-1)[:2] = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)
        return x
    x = torch.randn(shape) * 3
    numbers = [
        torch.nan,
        torch.inf,
        -torch.inf,
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.7,
        -0.7,
        0.1,
        0.25,
        1e30,
        -1e30,
    ]
    x.view(-1)[: 4 * len(numbers) : 4] = torch.tensor(numbers)
    return x.to(dtype)


def _bits(x: torch.Tensor) -> torch.Tensor:
    """The bits of each element, with one pattern for NaN."""
    if not x.is_floating_point():
        return x
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return torch.where(x.isnan(), torch.full_like(x, torch.nan), x).contiguous().view(width)


def _check(tmp_path: Path, table: dict[str, Callable[..., Any]], x: torch.Tensor) -> None:
    """Compares one kernel of all functions with the functions."""
    if x.is_cuda and x.stride(-2) == 1:
        # Eager mode itself refuses some layouts there.
        table = {name: function for name, function in table.items() if name != "channel_shuffle"}
    functions = list(table.values())

    def together(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(function(x) for function in functions)

    (text,) = texts(together, (x,), x.device.type)
    results = load(text, tmp_path).fused(x)
    for name, found, function in zip(table, results, functions, strict=True):
        expected = function(x)
        layouts = [(value.dtype, value.shape, value.stride()) for value in (found, expected)]
        assert layouts[0] == layouts[1], name
        assert torch.equal(_bits(found), _bits(expected)), name


@pytest.mark.parametrize("device", _DEVICES)
@pytest.mark.parametrize(
    ("dtype", "layout"),
    [
        (torch.float32, "sliced"),
        (torch.bfloat16, "transposed"),
        (torch.float16, "channels last"),
        (torch.float64, "expanded"),
        (torch.float32, "unaligned"),
    ],
    ids=str,
)
def test_floats(tmp_path: Path, dtype: torch.dtype, layout: str, device: str) -> None:
    table = {**_OF_FLOATS, **_OF_ALL}
    if dtype in (torch.float32, torch.float64):
        table |= {**_OF_WIDE, **(_DIVISIONS if device == "cpu" else {})}
    if device == "cpu":
        table |= _NUMBERS
    if device == "cpu" or dtype != torch.float64:
        table |= _CONTRACTED
    if device == "cpu" or dtype == torch.float16:
        table |= _RESTS
    if dtype == torch.float16:
        table |= _OF_HALVES
    _check(tmp_path, table, _laid_out(_special(_SHAPE, dtype).to(device), layout))


@pytest.mark.parametrize("device", _DEVICES)
@pytest.mark.parametrize(
    ("dtype", "layout"),
    [
        (torch.int64, "sliced"),
        (torch.int32, "unaligned"),
        (torch.int16, "expanded"),
        (torch.int8, "transposed"),
        (torch.uint8, "contiguous"),
    ],
    ids=str,
)
def test_integers(tmp_path: Path, dtype: torch.dtype, layout: str, device: str) -> None:
    signed = _OF_SIGNED if dtype.is_signed else {}
    _check(tmp_path, {**_OF_ALL, **_OF_INTEGERS, **signed}, _laid_out(_special(_SHAPE, dtype).to(device), layout))


@pytest.mark.parametrize("name", list(_LEFT))
def test_what_stays(name: str) -> None:
    function, dtypes = _LEFT[name]
    for dtype in dtypes:
        assert not any(name in text for text in texts(function, (_special((4, 64), dtype),), "cpu")), dtype


@pytest.mark.parametrize("shape", [(0, 4, 5, 7), (3, 4, 0, 7)], ids=str)
def test_no_elements(tmp_path: Path, shape: tuple[int, ...]) -> None:
    function = lambda x: torch.nan_to_num(torch.round(x) * 2.0)  # noqa: E731
    x = torch.zeros(shape)
    for text in texts(function, (x,), "cpu"):
        assert load(text, tmp_path).fused(x).shape == shape
