"""Reductions of few long rows for CUDA, which are split into chunks, in Triton's interpreter next to float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch

from authored import texts

F = torch.nn.functional
BIG = (1, 64, 2400)  # 153,600 elements, from which on rows are split.
# Function, shapes of its arguments, launches. Triton's interpreter takes minutes for maxima: `MAXIMA` run on GPUs only.
SUMS = [
    (lambda x, w, b: F.relu(F.group_norm(x, 1, w, b)), [BIG, (64,), (64,)], 3),
    (lambda x: F.layer_norm(x + 100.0, (64, 2400)), [BIG], 3),
    (lambda x: torch.var(x * 2.0 + 30.0, (1, 2), correction=0), [BIG], 2),
    (lambda x: torch.std(x, -1), [(2, 140_000)], 2),
    (lambda x: F.batch_norm(x, None, None, training=True), [(9, 3, 16384)], 3),
    (lambda x, y: torch.sum(x * y, -1), [(1, 3, 131_072), (1, 1, 131_072)], 2),
    (lambda x: torch.mean(x, 0), [(131_072, 2)], 2),
    # Each element of these rows is 18 reads.
    (lambda x, w: F.conv2d(x, w, padding=1, groups=2).mean((2, 3)), [(1, 2, 112, 112), (2, 1, 3, 3)], 2),
]
MAXIMA = [
    (lambda x: torch.softmax(x * 0.5, -1), [(2, 131_072)], 5),
    (lambda x: F.log_softmax(x, -1), [(1, 140_000)], 5),
    (lambda x: torch.amax(x, (0, 2), keepdim=True), [(3, 2, 65_536)], 2),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def test_long_rows_have_the_values_of_float64(tmp_path: Path) -> None:
    for number, (function, shapes, launches) in enumerate(SUMS + MAXIMA):
        written = texts(function, arguments(number, shapes), "cuda")
        assert len(written) == 1
        assert written[0].count("num_warps=") == launches, written[0]
        (tmp_path / f"{number}.py").write_text(written[0])
    environment = {**os.environ, **({"TRITON_INTERPRET": "1"} if DEVICE == "cpu" else {})}
    run = subprocess.run(
        [sys.executable, __file__, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]


def arguments(seed: int, shapes: list[tuple[int, ...]]) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(seed)
    return tuple(torch.randn(shape) for shape in shapes)


def check(folder: Path) -> int:
    """Runs each pass; says what differs from float64."""
    from fused import _stand_in_for_libdevice, load

    if DEVICE == "cpu":
        _stand_in_for_libdevice()
    failures = 0
    for number, (function, shapes, _) in enumerate(SUMS if DEVICE == "cpu" else SUMS + MAXIMA):
        given = [argument.to(DEVICE) for argument in arguments(number, shapes)]
        found = load(folder / f"{number}.py", DEVICE).fused(*given)
        expected = function(*(argument.double() for argument in given))
        worst = ((found.double() - expected).abs() / (expected.abs() + expected.abs().mean())).max().item()
        if found.shape != expected.shape or not worst < 2e-5:
            failures += 1
            print(f"case {number}: differs by {worst}")
    return failures


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1])) != 0)
