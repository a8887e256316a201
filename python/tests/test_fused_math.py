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
        "    const vec row = get_row(x);\n"
        "    out[0] = lanes, out[1] = max_lanes(row), out[2] = min_lanes(row), out[3] = add_lanes(row);\n}\n"
    )
    signatures = [f"void {name}_(const float* x, float* vectors, float* scalars)" for name in _FUNCTIONS]
    compiled = kernels.cpp(
        _MATH.read_text() + body + folds + "}  // namespace fused\n",
        *signatures,
        "void fold(const float* x, float* out)",
        flags=("-ffp-contract=fast", "-Wno-psabi"),
    )
    return dict(zip((*_FUNCTIONS, "fold"), compiled, strict=True))


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
