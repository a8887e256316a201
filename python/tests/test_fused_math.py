"""The functions that kernels of the built-in author begin with, against PyTorch's in double precision."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from passnet import kernels

_MATH = Path(__file__).parents[2] / "crates/passnet-fuse/src/print/cpp/math.hpp"
_FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "floor")
_COUNT = 4096


@pytest.fixture(scope="module")
def functions() -> dict[str, object]:
    body = "".join(
        f'extern "C" void {name}_(const float* x, float* vectors, float* scalars) {{\n'
        f"    for (int64_t k = 0; k < {_COUNT}; k += lanes) put_row(vectors + k, {name}_of(get_row(x + k)));\n"
        f"    for (int64_t k = 0; k < {_COUNT}; ++k) scalars[k] = {name}_of(x[k]);\n}}\n"
        for name in _FUNCTIONS
    )
    folds = (
        'extern "C" void fold(const float* x, float* out) {\n'
        "    const vec row = get_row(x);\n    cascade sum;\n    sum.part[0] = row;\n"
        "    out[0] = lanes, out[1] = max_lanes(row), out[2] = min_lanes(row), out[3] = total(sum, 0.0f);\n}\n"
    )
    bounds = (
        'extern "C" void bound(const float* x, float* vectors, float* scalars) {\n'
        "    put_row(vectors, at_least(splat(-1.0f), at_most(splat(1.0f), get_row(x))));\n"
        "    for (int64_t k = 0; k < lanes; ++k) scalars[k] = at_least(-1.0f, at_most(1.0f, x[k]));\n}\n"
    )
    sums = (
        'extern "C" void sum(const float* x, float* out, int64_t width) {\n'
        "    cascade sum;\n    float rest = 0.0f;\n    int64_t k = 0;\n"
        "    while (k + 4 * lanes <= width) {\n"
        "        for (int64_t part = 0; part < 4; ++part, k += lanes) sum.part[part] += get_row(x + k);\n"
        "        carry(sum);\n    }\n    join(sum);\n"
        "    for (; k + lanes <= width; k += lanes) sum.part[0] += get_row(x + k);\n"
        "    for (; k < width; ++k) rest += x[k];\n    out[0] = total(sum, rest);\n}\n"
    )
    signatures = [f"void {name}_(const float* x, float* vectors, float* scalars)" for name in _FUNCTIONS]
    compiled = kernels.cpp(
        _MATH.read_text() + body + folds + bounds + sums + "}  // namespace fused\n",
        *signatures,
        "void fold(const float* x, float* out)",
        "void bound(const float* x, float* vectors, float* scalars)",
        "void sum(const float* x, float* out, int64_t width)",
        flags=("-ffp-contract=fast", "-Wno-psabi"),
    )
    return dict(zip((*_FUNCTIONS, "fold", "bound", "sum"), compiled, strict=True))


@pytest.mark.parametrize("name", _FUNCTIONS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 5000.0, 1e7])
def test_elementary_functions(functions: dict, name: str, scale: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(_COUNT) * scale
    if name in ("log", "sqrt"):
        x = x.abs()
    elif name == "exp":
        x = x.clamp(-80, 80)
    vectors, scalars = torch.empty(_COUNT), torch.empty(_COUNT)
    functions[name](x, vectors, scalars)
    wanted = getattr(torch, name)(x.double())
    for found in (vectors, scalars):
        torch.testing.assert_close(found.double(), wanted, rtol=1.3e-6, atol=2e-7)


def test_what_is_not_finite(functions: dict) -> None:
    x = torch.full((_COUNT,), float("inf"))
    x[1::2] = float("nan")
    found, scalars = torch.empty(_COUNT), torch.empty(_COUNT)
    for name in _FUNCTIONS:
        functions[name](x, found, scalars)
        wanted = getattr(torch, name)(x)
        assert torch.equal(found.isnan(), wanted.isnan()), name
        assert torch.equal(scalars.isnan(), wanted.isnan()), name


def test_lanes_are_joined(functions: dict) -> None:
    torch.manual_seed(1)
    x, out = torch.randn(16), torch.empty(4)
    functions["fold"](x, out)
    row = x[: int(out[0])]
    assert out[1] == row.max() and out[2] == row.min()
    torch.testing.assert_close(out[3], row.sum())
    x[3] = float("nan")
    functions["fold"](x, out)
    assert out[1:].isnan().all()


def test_what_is_no_number_stays_so_between_bounds(functions: dict) -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([nan, -inf, inf, 0.5, -3.0, 3.0, -1.0, nan] * 2)
    vectors, scalars = torch.empty(2, 16).fill_(nan)
    functions["bound"](x, vectors, scalars)
    wanted = x.clamp(-1, 1)
    for found in (vectors, scalars):
        torch.testing.assert_close(found[:8], wanted[:8], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("width", [1, 31, 128, 257, 1000, 4100, 100_000])
def test_sums_have_the_order_of_eager_mode(functions: dict, width: int) -> None:
    torch.manual_seed(2)
    rows, out = torch.randn(8, width) + 0.3, torch.empty(1)
    for row, wanted in zip(rows, rows.sum(-1), strict=True):
        functions["sum"](row, out, width)
        assert out[0] == wanted
