"""Products of matrices that the built-in author writes for CUDA, in Triton's interpreter, next to float64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from compiling import newer
from passnet import _native
from passnet._passes.trace import trace_pattern
from passnet._passes.wire import from_graph
from passnet._services.propagate import propagate

LINEAR = "torch.relu(torch.nn.functional.linear(x, w, b))"
# Operations, shapes: sizes that are no multiple of a tile, long and short sums, vectors, batches.
CASES = [
    (LINEAR, [[50, 96], [72, 96], [72]]),
    (LINEAR, [[2, 17, 130], [33, 130], [33]]),
    (LINEAR, [[128, 16], [64, 16], [64]]),
    ("torch.bmm(x, w) * 0.5", [[3, 33, 40], [3, 40, 7]]),
    ("torch.sigmoid(torch.bmm(x, w.transpose(1, 2)))", [[3, 16, 64], [3, 65, 64]]),
    ("torch.matmul(x, w).transpose(1, 2).contiguous()", [[2, 4, 19, 5], [2, 4, 5, 48]]),
    ("torch.matmul(x, w).permute(0, 2, 1) + b", [[2, 33, 48], [48, 20], [33]]),
    # One factor for the whole batch, the other one broadcast over a part of it.
    ("torch.relu(torch.matmul(x, w))", [[3, 2, 9, 20], [2, 20, 11]]),
    ("torch.relu(torch.addmm(b, x, w))", [[50, 96], [96, 72], [72]]),
    ("torch.baddbmm(b, x, w) * 2.0", [[3, 33, 40], [3, 40, 7], [3, 33, 7]]),
    # Sums in parts, of which a second launch adds up few in an expression, or many in a loop.
    (LINEAR, [[5, 4096], [2100, 4096], [2100]]),
    (LINEAR, [[20, 5120], [72, 5120], [72]]),
    ("torch.sigmoid(torch.bmm(x, w.transpose(1, 2)))", [[2, 33, 4096], [2, 18, 4096]]),
    # The batch is not in front; two dimensions are summed over; the result is turned.
    ("torch.functional.einsum('bnhc,bhcm->bhnm', x, w) * 0.125", [[2, 19, 4, 40], [2, 4, 40, 17]]),
    ("torch.relu(torch.functional.einsum('nij,kji->kn', x, w))", [[33, 4, 12], [20, 12, 4]]),
    # Convolutions: pointwise with a step, of windows side by side, dilated, of groups, along one dimension.
    ("torch.relu(torch.conv2d(x, w, b, (2, 2), (0, 0), (1, 1), 1))", [[2, 24, 9, 13], [20, 24, 1, 1], [20]]),
    (
        "torch.conv2d(x, w, b, (4, 4), (0, 0), (1, 1), 1).flatten(2).transpose(1, 2)",
        [[2, 3, 21, 16], [18, 3, 4, 4], [18]],
    ),
    ("torch.sigmoid(torch.conv2d(x, w, None, 1, 0, 2, 1))", [[1, 6, 12, 11], [17, 6, 3, 2]]),
    ("torch.conv2d(x, w, b, 1, 0, 1, 3) * 2.0", [[2, 24, 5, 7], [30, 8, 1, 1], [30]]),
    ("torch.relu(torch.conv1d(x, w, b, (3,), (0,), (1,), 1))", [[2, 12, 50], [33, 12, 5], [33]]),
]
# Those that are written out: strips of windows in the padding, steps, dilation, several filters of a channel.
DEPTHWISE = [
    ("torch.relu(torch.conv2d(x, w, b, (2, 1), (1, 1), (1, 1), 6))", [[2, 6, 9, 10], [6, 1, 3, 3], [6]]),
    ("torch.conv2d(x, w, None, 1, 4, 3, 6) * 2.0", [[2, 6, 7, 9], [12, 1, 3, 3]]),
    ("torch.relu(torch.conv2d(x, w, b, 3, 5, 1, 4))", [[1, 4, 3, 3], [4, 1, 5, 5], [4]]),
    ("torch.relu(torch.conv1d(x, w, b, 2, 3, 1, 5))", [[2, 5, 17], [5, 1, 4], [5]]),
]
TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
SHORT = ("float16", "bfloat16")
# The kernels of both short types differ in the name of the type only.
DTYPES = ["float32", pytest.param("float16", marks=pytest.mark.long), "bfloat16"]


def passes_of(text: str, shapes: list[list[int]], dtype: str) -> list[tuple[str, str]]:
    names = "xwb"[: len(shapes)]
    space: dict = {"torch": torch}
    exec(f"def graph({', '.join(names)}):\n    return {text}\n", space)
    wire = from_graph(trace_pattern(space["graph"]))
    types = propagate(wire, [{"shape": shape, "dtype": dtype} for shape in shapes], "cuda")
    return _native.write_passes(json.dumps(wire), json.dumps(types), "cuda")


@newer("types of convolutions on a GPU are not found without one")
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_odd_sizes(dtype, tmp_path):
    count = 0
    for number, (text, shapes) in enumerate(CASES):
        for name, content in passes_of(text, shapes, dtype):
            if "tl.dot" in content:
                (tmp_path / f"{number}_{name}.py").write_text(content)
                count += 1
    assert count == len(CASES)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, __file__, str(tmp_path), dtype]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]


@newer("types of convolutions on a GPU are not found without one")
@pytest.mark.parametrize("dtype", ["float32", *(pytest.param(dtype, marks=pytest.mark.long) for dtype in SHORT)])
def test_windows_of_one_channel(dtype, tmp_path):
    for number, (text, shapes) in enumerate(DEPTHWISE):
        for name, content in passes_of(text, shapes, dtype):
            (tmp_path / f"{number}_{name}.py").write_text(content)
    assert len([path for path in tmp_path.iterdir() if path.suffix == ".py"]) == len(DEPTHWISE)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, __file__, str(tmp_path), dtype, "infinite"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]


def test_types_and_sizes_without_a_kernel_stay():
    for dtype, shapes in (("float64", [[50, 96], [72, 96], [72]]), ("float16", [[0, 96], [72, 96], [72]])):
        assert all("tl.dot" not in text for _, text in passes_of(LINEAR, shapes, dtype))


def check(folder: Path, dtype: str, weights: str = "finite") -> int:
    """Runs each pass in the interpreter; says what differs from float64. With infinite weights, what is infinite or NaN has to agree."""
    from fused import _stand_in_for_libdevice, arguments, load

    _stand_in_for_libdevice()
    torch.manual_seed(0)
    failures = 0
    for path in sorted(folder.glob("*.py")):
        module = load(path, "cpu")
        for _, made in arguments(module, "cpu", lambda tensor: tensor.copy_(torch.randn(tensor.shape))):
            found = module.fused(*made)
            exact = module.pattern(*(value.double() if isinstance(value, torch.Tensor) else value for value in made))
            if weights == "infinite":
                failures += differs_where_not_finite(module, made)
            error = (found.double() - exact).abs().max() / exact.abs().max()
            if found.shape != exact.shape or found.stride() != exact.stride() or error > TOLERANCE[dtype]:
                failures += 1
                print(f"{path.name}: {found.shape} {found.stride()}, off by {error}")
    return failures


def differs_where_not_finite(module, made) -> bool:
    """Returns whether a pass differs from its pattern in what is infinite or NaN, where the first weight of each filter is infinite.

    The pattern runs on a CPU, whose depthwise convolution multiplies the padding. It is given what PyTorch's CUDA kernel gives
    instead: the infinite weights alone decide which results are not finite, and those that lie in the padding do not.
    """
    made = [value.abs() + 1 if isinstance(value, torch.Tensor) else value for value in made]
    plain = [value.clone() if isinstance(value, torch.Tensor) else value for value in made]
    made[1].flatten(1)[:, 0] = float("inf")
    plain[1].fill_(0)
    plain[1].flatten(1)[:, 0] = 1
    touched = (
        module.pattern(
            plain[0], plain[1], *(value * 0 if isinstance(value, torch.Tensor) else value for value in plain[2:])
        )
        != 0
    )
    found = module.fused(*made)
    wrong = (found.isinf() != touched) | found.isnan()
    if wrong.any():
        print(f"infinite weights: {int(wrong.sum())} of {wrong.numel()} differ")
    return bool(wrong.any())


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1]), *sys.argv[2:]) != 0)
