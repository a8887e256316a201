"""Copies with other strides, as kernels that are written for one layout ask for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from authored import load, texts
from passnet import _native, kernels

SHAPES = [(3, 4, 5, 6), (7,), (), (2, 3, 4, 5, 6, 2), (0, 3), (300, 500)]
DTYPES = [torch.bool, torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.complex128]


def _turned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    x = (torch.randn(shape) * 10).to(dtype)
    return x.transpose(0, -1).contiguous().transpose(0, -1) if x.dim() > 1 else x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_copy_has_the_elements_and_the_strides(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = _turned(shape, dtype)
    copied = kernels.with_strides(x, torch.empty(shape).stride())
    assert torch.equal(copied, x) and copied.stride() == torch.empty(shape).stride()
    back = torch.empty_strided(x.shape, x.stride(), dtype=dtype)
    kernels.copy(copied, back)
    assert torch.equal(back, x)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.ones(4), "shapes, types and devices differ"),
        (torch.ones(3, dtype=torch.float64), "float32.3. on cpu to torch.float64"),
        (torch.ones(3, device="meta"), "on meta"),
    ],
)
def test_other_tensors_are_refused(out: torch.Tensor, message: str) -> None:
    with pytest.raises(kernels.KernelArgumentError, match=message):
        kernels.copy(torch.ones(3), out)


def test_more_than_six_dimensions_are_refused() -> None:
    x = torch.ones(1, 1, 1, 1, 1, 1, 2)
    with pytest.raises(kernels.KernelArgumentError, match="7 dimensions"):
        kernels.with_strides(x, x.stride())


def test_a_prepared_function_repeats_the_copy() -> None:
    calls = []

    @kernels.prepared
    def row_major(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return kernels.with_strides(x, (3, 1))

    for _ in range(3):
        x = torch.randn(3, 2).t()
        assert torch.equal(row_major(x), x)
    assert len(calls) == 1


def test_a_pass_refuses_other_inputs_before_it_copies_one(tmp_path: Path) -> None:
    """After a copy, which is a launch, the backend would not let PyTorch compute the pattern."""

    def function(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.relu(torch.conv2d(x, weight) + y), y * 2

    y = torch.randn(2, 8, 4, 4)
    (text,) = texts(function, (torch.randn(2, 8, 6, 6), torch.randn(8, 8, 3, 3), y), "cpu")
    written = load(text, tmp_path)
    turned = y.transpose(2, 3)
    # The convolution's result may have any strides, the other input may not.
    for found, expected in zip(written.fused(turned, y), written.pattern(turned, y), strict=True):
        assert torch.equal(found, expected)
    before = _native.launches()
    with pytest.raises(ValueError, match="not written for"):
        written.fused(turned, turned)
    assert _native.launches() == before


INTERPRETED = """
import torch
from passnet.kernels._strides_device import copy_elements

x = torch.randn(3, 5, 7).permute(2, 0, 1)
out = torch.empty(7, 3, 5)
ends = [n for tensor in (x, out) for n in (0, 0, 0, *tensor.stride())]
copy_elements[(4,)](x, out, x.numel(), 1, 1, *x.shape, *ends, BLOCK=32)
assert torch.equal(out, x)
"""


def test_the_kernel_for_a_device_copies_in_the_interpreter() -> None:
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, check=True)
