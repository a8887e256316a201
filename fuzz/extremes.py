"""Compares the built-in author's C++ with PyTorch and with double precision on numbers of all sizes.

    PYTHONPATH=python:python/tests python fuzz/extremes.py [--functions TEXT]

The numbers are near 0 and near 1, subnormal, huge, infinite or no numbers. An element is a finding if its error is more than two
units in the last place above that of eager mode, or if only one of the two is NaN, infinite or below 0. Prints the worst element of
each function and type that has findings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from authored import load, texts

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
# Digits after the first one, and the least exponent of normal numbers.
PLACES = {torch.float32: (23, -126), torch.float16: (10, -14), torch.bfloat16: (7, -126), torch.float64: (52, -1022)}
# Units in the last place that the author's error may be above that of eager mode. In double precision, the functions are those of the
# C library.
MOST_ABOVE = {torch.float32: 2.25, torch.float16: 1.0, torch.bfloat16: 1.0, torch.float64: 5.0}

OF_ONE: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": F.elu,
    "elu with a factor": lambda x: F.elu(x, 0.3),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 1.7),
    "softplus": F.softplus,
    "softplus with a factor": lambda x: F.softplus(x, 2.0, 10.0),
    "mish": F.mish,
    "logsigmoid": F.logsigmoid,
    "expm1": torch.expm1,
    "log1p": torch.log1p,
    "exp": torch.exp,
    "log": torch.log,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "hardtanh": F.hardtanh,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "round": torch.round,
    "frac": torch.frac,
    "softsign": F.softsign,
    "remainder by a number": lambda x: x % 1.75,
    "fmod by a number": lambda x: torch.fmod(x, -3.0),
    "hardshrink": F.hardshrink,
    "threshold": lambda x: torch.threshold(x, 0.25, 20.0),
    "nan_to_num": torch.nan_to_num,
    "abs": torch.abs,
    "sign": torch.sign,
    "square": torch.square,
    "clamp": lambda x: x.clamp(-0.5, 2.0),
    "pow 3": lambda x: x**3,
    "pow -1": lambda x: x**-1,
    "pow -2": lambda x: x**-2,
    "pow 0.5": lambda x: x**0.5,
    "pow -0.5": lambda x: x**-0.5,
    "pow 0": lambda x: x**0,
    "pow 1.5": lambda x: x**1.5,
    "pow 4": lambda x: x**4,
    "divided by a number": lambda x: x / 3.0,
    "multiplied by a number": lambda x: x * 0.1,
    "a number divided": lambda x: 3.0 / x,
    "subtracted from a number": lambda x: 1.0 - x,
}
# Formulas whose results are small differences in eager mode, too: errors are counted in places of the operand.
CANCELLING = {"gelu": F.gelu, "gelu by tanh": lambda x: F.gelu(x, approximate="tanh")}
OF_TWO: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": lambda x, y: torch.where(x > y, x, y),
    "less or equal": lambda x, y: torch.where(x <= y, y, 0.0),
    "equal": lambda x, y: torch.where(x == y, 1.0 + x, x),
    "addcdiv": lambda x, y: torch.addcdiv(x, y, x, value=0.3),
    "lerp from the start": lambda x, y: torch.lerp(x, y, 0.3),
    "lerp from the end": lambda x, y: torch.lerp(x, y, 0.75),
    # Not the product of `mul` again: compilers contract only a product that has no other use.
    "addcmul": lambda x, y: torch.addcmul(x, y, y),
    "prelu": lambda x, y: torch.where(x > 0, x, y * x),
}
# Where a quotient overflows, eager mode gives NaN in full vectors only, so the author leaves other types to it.
OF_TWO_HALVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"fmod": torch.fmod, "remainder": torch.remainder}


def numbers(dtype: torch.dtype, count: int) -> Tensor:
    """Numbers of all sizes."""
    places, least = PLACES[dtype]
    limit = torch.finfo(dtype).max
    powers = 2.0 ** torch.linspace(least - places, -least, count // 4, dtype=torch.float64)
    near = torch.cat([torch.logspace(-6, 1, count // 8), 1 + torch.logspace(-7, 0, count // 16)]).double()
    special = torch.tensor([0.0, torch.inf, torch.nan, limit, 1.0, 20.0, 88.7, 89.0, 103.5], dtype=torch.float64)
    least_ones = 2.0 ** (least - places) * torch.arange(1, 9, dtype=torch.float64)
    sizes = torch.cat([powers, near, special, least_ones, torch.linspace(0, 110, count // 16, dtype=torch.float64)])
    return torch.cat([sizes, -sizes]).to(dtype)


def place(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """The unit in the last place of the numbers of a type near `exact`."""
    places, least = PLACES[dtype]
    size = exact.abs().clamp(2.0**least, torch.finfo(dtype).max)
    return 2.0 ** (size.log2().floor() - places)


def findings(names: list[str], functions: list[Callable[..., Tensor]], arguments: tuple[Tensor, ...]) -> list[str]:
    """Differences of the author's kernel of all functions, by function."""

    def together(*arguments: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(*arguments) for function in functions)

    if len(arguments) == 1:
        traced = eval("lambda x: together(x)", {"together": together})
    else:
        traced = eval("lambda x, y: together(x, y)", {"together": together})
    dtype = arguments[0].dtype
    expected = traced(*arguments)
    exact = traced(*(argument.double() for argument in arguments))
    found: list[str] = []
    written = texts(traced, arguments, "cpu")
    if len(written) != 1:
        return [f"{dtype}: {len(written)} passes"]
    with tempfile.TemporaryDirectory() as folder:
        results = load(written[0], Path(folder)).fused(*arguments)
    results = results if isinstance(results, (tuple, list)) else (results,)
    for name, mine, eager, true in zip(names, results, expected, exact, strict=True):
        unit = place(arguments[0].double() if name in CANCELLING else true, dtype)
        errors, allowed = ((value.double() - true).abs() / unit for value in (mine, eager))
        same = (mine == eager) | (mine.isnan() & eager.isnan())
        above = (errors - allowed).masked_fill(same, 0).nan_to_num(torch.inf, torch.inf)
        above[mine.isnan() != eager.isnan()] = torch.inf
        # Without AVX-512, eager mode gives 0 for `gelu` where the exact result is just below 0, so -0 is right there.
        has_wrong_sign = (mine.signbit() != eager.signbit()) & (mine.signbit() != true.signbit())
        above[(mine == 0) & (eager == 0) & has_wrong_sign] = torch.inf
        # Eager mode may be the one that is wrong: `gelu` of infinity is NaN there.
        rounded = true.to(dtype)
        above[(mine == rounded) & (mine.signbit() == rounded.signbit())] = 0
        worst = int(above.argmax())
        if above[worst] > MOST_ABOVE[dtype]:
            of = ", ".join(repr(float(argument[worst])) for argument in arguments)
            found.append(
                f"{name} of {dtype}: {float(above[worst]):.3g} places at ({of}): {float(mine[worst])!r}, eager "
                f"{float(eager[worst])!r}, exact {float(true[worst])!r}; {int((above > MOST_ABOVE[dtype]).sum())} elements"
            )
    return found


def of_one(dtype: torch.dtype, count: int, text: str = "") -> list[str]:
    """Findings of functions of one number, about `count` of them."""
    table = {name: function for name, function in {**OF_ONE, **CANCELLING}.items() if text in name}
    if dtype == torch.float16:
        # Left to PyTorch, which has a power there.
        table = {name: function for name, function in table.items() if name not in ("pow 0.5", "pow -0.5")}
    return findings(list(table), list(table.values()), (numbers(dtype, count),)) if table else []


def of_two(dtype: torch.dtype, count: int, text: str = "") -> list[str]:
    """Findings of functions of two numbers, which are all pairs of about `count` ones."""
    known = {**OF_TWO, **OF_TWO_HALVES} if dtype == torch.float16 else OF_TWO
    table = {name: function for name, function in known.items() if text in name}
    few = numbers(dtype, count)
    pairs = (few.repeat_interleave(len(few)), few.repeat(len(few)))
    return findings(list(table), list(table.values()), pairs) if table else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--functions", default="", help="only functions whose name contains this")
    parser.add_argument("--count", type=int, default=60_000, help="numbers, about")
    args = parser.parse_args()
    torch.set_num_threads(1)
    total = 0
    for dtype in FLOATS:
        for found in (of_one(dtype, args.count, args.functions), of_two(dtype, 400, args.functions)):
            total += len(found)
            print(*(f"{line}\n" for line in found), sep="", end="", flush=True)
    print(f"{total} findings")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
