"""The library of vectors that kernels of the built-in author use, against PyTorch's in double precision."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from passnet import kernels

_START = "#include <passnet/vectors.hpp>\nusing namespace passnet;\n"
_FUNCTIONS = ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "erf", "floor")
_COUNT = 4096
_FLAGS = ("-ffp-contract=fast", "-Wno-psabi")


# PyTorch's levels of vector code, each of which CPUs of the later ones can run too.
_CAPABILITIES = ("DEFAULT", "AVX2", "AVX512")
_WIDTHS = (1, 31, 128, 143, 152, 159, 257, 1000, 4100, 100_000)


def _source() -> str:
    body = "".join(
        f'extern "C" void {name}_(const float* x, float* vectors, float* scalars) {{\n'
        f"    for (int64_t k = 0; k < {_COUNT}; k += lanes) put_row(vectors + k, {name}_of(get_row(x + k)));\n"
        f"    for (int64_t k = 0; k < {_COUNT}; ++k) scalars[k] = {name}_of(x[k]);\n}}\n"
        for name in _FUNCTIONS
    )
    folds = (
        'extern "C" void fold(const float* x, float* out) {\n'
        "    const vec row = get_row(x);\n"
        "    out[0] = lanes, out[1] = max_lanes(row), out[2] = min_lanes(row), out[3] = total(row, 0.0f);\n}\n"
    )
    bounds = (
        'extern "C" void bound(const float* x, float* vectors, float* scalars) {\n'
        "    for (int64_t k = 0; k < 16; k += lanes)\n"
        "        put_row(vectors + k, at_least(splat(-1.0f), at_most(splat(1.0f), get_row(x + k))));\n"
        "    for (int64_t k = 0; k < 16; ++k) scalars[k] = at_least(-1.0f, at_most(1.0f, x[k]));\n}\n"
    )
    # The loops that the author prints around these functions.
    sums = (
        'extern "C" void sum(const float* x, float* out, int64_t width) {\n'
        "    cascade sum;\n    float rest = 0.0f;\n    int64_t k = 0;\n"
        "    while (k + sum_step <= width) {\n"
        "        for (int64_t part = 0; part < sum_parts; ++part, k += lanes) sum.part[part] += get_row(x + k);\n"
        "        carry(sum);\n    }\n    join(sum);\n"
        "    for (; k + lanes <= width; k += lanes) add_left(sum, rest, get_row(x + k), k, width);\n"
        "    for (; k < width; ++k) add_left(sum, rest, x[k], k, width);\n    out[0] = total(sum, rest);\n}\n"
    )
    columns = (
        'extern "C" void column_sum(const float* x, float* out, int64_t rows, int64_t width) {\n'
        "    column_sums sum(rows);\n"
        "    for (int64_t row = 0; row < rows; ++row) {\n        int64_t k = 0;\n"
        "        for (; k + lanes <= width; k += lanes) add_row(sum, k, get_row(x + row * width + k));\n"
        "        for (; k < width; ++k) add_row(sum, k, x[row * width + k]);\n"
        "        next_row(sum, width);\n    }\n    finish(sum, width);\n"
        "    for (int64_t k = 0; k < width; ++k) out[k] = sum.level[0][k];\n}\n"
    )
    ends = (
        'extern "C" void end(const float* x, float* out, float* strided, int64_t left) {\n'
        "    const vec end = first_lanes(get_row(x, left), left, -INFINITY);\n"
        "    out[lanes] = max_lanes(end);\n    put_row(out, end, left);\n"
        "    put_strided(strided, 2, get_strided(x, 2, left), left);\n}\n"
    )
    rounding = (
        'extern "C" void half(const float* x, float16* vectors, float16* scalars, float* rounded) {\n'
        f"    for (int64_t k = 0; k < {_COUNT}; k += lanes) put_row(vectors + k, get_row(x + k));\n"
        f"    for (int64_t k = 0; k < {_COUNT}; ++k) put(scalars + k, x[k]);\n"
        f"    for (int64_t k = 0; k < {_COUNT}; k += lanes) put_row(rounded + k, round_float16(get_row(x + k)));\n}}\n"
        'extern "C" void half_rows(const float* x, float16* stored, float* rounded) {\n'
        f"    ::store(x, stored, {_COUNT}), ::load(stored, rounded, {_COUNT});\n}}\n"
    )
    extremes = (
        'extern "C" void extreme(const float* x, float* out) {\n'
        "    extremes most(-INFINITY), least(INFINITY);\n    int64_t k = 0;\n"
        f"    while (k + extreme_step <= {_COUNT})\n"
        "        for (int64_t part = 0; part < extreme_parts; ++part, k += lanes) {\n"
        "            most.part[part] = maximum(get_row(x + k), most.part[part]);\n"
        "            least.part[part] = minimum(get_row(x + k), least.part[part]);\n        }\n"
        "    out[0] = max_lanes(most), out[1] = min_lanes(least);\n}\n"
    )
    # A product with two uses: one stores it, the other one contracts it.
    contracted = (
        'extern "C" void contract(const float* x, const float* y, float* products, float* sums, float* plain) {\n'
        f"    for (int64_t k = 0; k < {_COUNT}; k += lanes) {{\n"
        "        const vec a = get_row(x + k), b = get_row(y + k), product = a * b;\n"
        "        put_row(products + k, product);\n"
        "        put_row(sums + k, multiply_add(a, b, a));\n"
        "        put_row(plain + k, kept(product) + a);\n    }\n}\n"
    )
    return _START + body + folds + bounds + sums + columns + ends + rounding + extremes + contracted


@pytest.fixture(scope="module", params=[4, 8, 16], ids="lanes{}".format)
def functions(request: pytest.FixtureRequest) -> dict[str, object]:
    """The functions with registers of each number of lanes, of which a CPU need not have any but one."""
    signatures = [f"void {name}_(const float* x, float* vectors, float* scalars)" for name in _FUNCTIONS]
    compiled = kernels.cpp(
        _source(),
        *signatures,
        "void fold(const float* x, float* out)",
        "void bound(const float* x, float* vectors, float* scalars)",
        "void sum(const float* x, float* out, int64_t width)",
        "void column_sum(const float* x, float* out, int64_t rows, int64_t width)",
        "void end(const float* x, float* out, float* strided, int64_t left)",
        "void half(const float* x, float16* vectors, float16* scalars, float* rounded)",
        "void half_rows(const float* x, float16* stored, float* rounded)",
        "void extreme(const float* x, float* out)",
        "void contract(const float* x, const float* y, float* products, float* sums, float* plain)",
        flags=(*_FLAGS, f"-DPASSNET_VECTOR_LANES={request.param}"),
    )
    others = ("fold", "bound", "sum", "column_sum", "end", "half", "half_rows", "extreme", "contract")
    return dict(zip((*_FUNCTIONS, *others), compiled, strict=True))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86 CPUs")
@pytest.mark.parametrize(
    ("flags", "lanes"), [((), 8), (("-mavx2", "-mfma", "-mf16c"), 8), (("-mavx512f", "-mfma", "-mf16c"), 16)]
)
def test_it_compiles_for_other_cpus(tmp_path: Path, flags: tuple[str, ...], lanes: int) -> None:
    folder = Path(kernels.__file__).parent
    prelude = (folder / "prelude.hpp").read_text()
    (tmp_path / "passnet").mkdir()
    (tmp_path / "passnet/vectors.hpp").write_text((folder / "vectors.hpp").read_text())
    source = tmp_path / "kernel.cpp"
    source.write_text(f'{prelude}{_source()}static_assert(lanes == {lanes}, "the CPU\'s registers");\n')
    command = ["g++", "-std=c++17", "-O2", "-isystem", tmp_path, *_FLAGS, *flags, "-c"]
    run = subprocess.run([*command, source, "-o", tmp_path / "kernel.o"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", _FUNCTIONS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 5000.0, 1e7])
def test_elementary_functions(functions: dict, name: str, scale: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(_COUNT) * scale
    if name in ("log", "log1p", "sqrt"):
        x = x.abs()
    elif name in ("exp", "expm1"):
        x = x.clamp(-80, 80)
    vectors, scalars = torch.empty(_COUNT), torch.empty(_COUNT)
    functions[name](x, vectors, scalars)
    wanted = getattr(torch, name)(x.double())
    for found in (vectors, scalars):
        torch.testing.assert_close(found.double(), wanted, rtol=1.3e-6, atol=2e-7)


def test_the_smallest_powers_are_not_zero(functions: dict) -> None:
    # A softmax of them is multiplied by infinity in some models: NaN where eager mode has infinity.
    x = torch.linspace(-106, -84, _COUNT)
    vectors, scalars = torch.empty(_COUNT), torch.empty(_COUNT)
    functions["exp"](x, vectors, scalars)
    wanted = x.exp()
    for found in (vectors, scalars):
        assert torch.equal(found == 0, wanted == 0)
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1.5e-45)


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_errors_are_those_of_eager_mode(functions: dict, name: str) -> None:
    # Numbers of all sizes, subnormal ones and infinities among them, and those around 0 and 1.
    torch.manual_seed(5)
    bits = torch.arange(-(2**31), 2**31, 70_001).to(torch.int32)
    sizes = torch.cat(
        [torch.logspace(-6, 1, 20_000), 1 + torch.logspace(-7, 0, 10_000), torch.linspace(90, 8192, 9999)]
    )
    x = torch.cat([bits.view(torch.float32), sizes, -sizes, torch.tensor([0.0, -0.0, torch.inf, -torch.inf])])
    x = torch.cat([x, torch.zeros(-len(x) % _COUNT)])
    vectors, scalars = torch.empty_like(x), torch.empty_like(x)
    for part in zip(x.split(_COUNT), vectors.split(_COUNT), scalars.split(_COUNT), strict=True):
        functions[name](*part)
    exact, eager = (getattr(torch, name)(of) for of in (x.double(), x))
    place = 2.0 ** (exact.abs().clamp(2.0**-126, 2.0**127).log2().floor() - 23)
    for found in (vectors, scalars):
        assert torch.equal(found.isnan(), exact.isnan())
        assert torch.equal(found.signbit() & ~found.isnan(), eager.signbit() & ~found.isnan())
        errors, allowed = ((of.double() - exact).abs() / place for of in (found, eager))
        same = (found == eager) | found.isnan()
        worst = (errors - allowed).masked_fill(same, 0).nan_to_num(torch.inf)
        assert float(worst.max()) <= 2.25, f"{name}({x[worst.argmax()]}) is {found[worst.argmax()]}"


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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="PyTorch's order for x86 CPUs")
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 300, 4096, 70_000])
def test_sums_of_columns_have_the_order_of_eager_mode(functions: dict, rows: int) -> None:
    torch.manual_seed(4)
    x, out = torch.randn(rows, 96) + 0.3, torch.empty(96)
    functions["column_sum"](x, out, rows, 96)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    wanted = x.sum(0)
    torch.set_num_threads(threads)
    assert torch.equal(out, wanted)


@pytest.mark.parametrize("left", [1, 2, 3])
def test_ends_of_rows_touch_nothing_else(functions: dict, left: int) -> None:
    x, out, strided = torch.arange(1.0, 9.0), torch.zeros(17), torch.zeros(8)
    functions["end"](x, out, strided, left)
    assert torch.equal(out[:left], x[:left]) and out[left:4].eq(0).all()
    assert float(out.max()) == left
    assert torch.equal(strided[: 2 * left : 2], x[: 2 * left : 2]) and strided[1::2].eq(0).all()


def test_what_is_no_number_stays_so_between_bounds(functions: dict) -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([nan, -inf, inf, 0.5, -3.0, 3.0, -1.0, nan] * 2)
    vectors, scalars = torch.empty(2, 16).fill_(nan)
    functions["bound"](x, vectors, scalars)
    wanted = x.clamp(-1, 1)
    for found in (vectors, scalars):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


def test_half_precision_is_rounded_to_nearest(functions: dict) -> None:
    torch.manual_seed(3)
    x = torch.randn(_COUNT) * torch.logspace(-8, 5, _COUNT)
    vectors, scalars, stored = (torch.empty(_COUNT, dtype=torch.float16) for _ in range(3))
    rounded, loaded = torch.empty(_COUNT), torch.empty(_COUNT)
    functions["half"](x, vectors, scalars, rounded)
    functions["half_rows"](x, stored, loaded)
    wanted = x.half()
    for found in (vectors, scalars, stored, rounded.half(), loaded.half()):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("place", [None, 0, 77, _COUNT - 1])
def test_extremes_of_long_rows(functions: dict, place: int | None) -> None:
    torch.manual_seed(7)
    x, out = torch.randn(_COUNT), torch.empty(2)
    if place is not None:
        x[place] = float("nan")
    functions["extreme"](x, out)
    torch.testing.assert_close(out, torch.stack([x.max(), x.min()]), rtol=0, atol=0, equal_nan=True)


def test_products_are_contracted_where_eager_mode_contracts_them(functions: dict) -> None:
    torch.manual_seed(6)
    x, y = torch.randn(2, _COUNT)
    products, sums, plain = torch.empty(3, _COUNT)
    functions["contract"](x, y, products, sums, plain)
    assert torch.equal(products, x * y)
    assert torch.equal(sums, torch.addcmul(x, x, y))
    assert torch.equal(plain, x * y + x)


@pytest.fixture(scope="module", params=_CAPABILITIES, ids=str.lower)
def eager_sums(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Rows by their width, and their sums in eager mode with PyTorch's code for a kind of CPU, which is chosen at its start."""
    best = torch.backends.cpu.get_cpu_capability()
    if best not in _CAPABILITIES or _CAPABILITIES.index(request.param) > _CAPABILITIES.index(best):
        pytest.skip(f"PyTorch runs its code for {best} here, and cannot run that for {request.param}")
    torch.manual_seed(2)
    rows = {width: torch.randn(8, width) + 0.3 for width in _WIDTHS}
    path = tmp_path_factory.mktemp("sums") / "rows.pt"
    torch.save(rows, path)
    script = (
        "import sys, torch\n"
        "rows = torch.load(sys.argv[1])\n"
        "torch.save({width: (x, x.sum(-1)) for width, x in rows.items()}, sys.argv[1])\n"
        "print(torch.backends.cpu.get_cpu_capability())\n"
    )
    environment = os.environ | {"ATEN_CPU_CAPABILITY": request.param.lower()}
    run = subprocess.run(
        [sys.executable, "-c", script, path], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() in (request.param, "NO AVX")
    return torch.load(path)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="PyTorch's order for x86 CPUs")
@pytest.mark.parametrize("width", _WIDTHS)
def test_sums_have_the_order_of_eager_mode(functions: dict, eager_sums: dict, width: int) -> None:
    out = torch.empty(1)
    rows, sums = eager_sums[width]
    for row, wanted in zip(rows, sums, strict=True):
        functions["sum"](row, out, width)
        assert out[0] == wanted
