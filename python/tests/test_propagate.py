"""Types of values on a device that is not there."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from passnet._passes.trace import trace_pattern
from passnet._passes.wire import from_graph
from passnet._services.propagate import propagate


def positions(x: torch.Tensor, w: torch.Tensor) -> tuple:
    a = torch.conv2d(x, w)
    b = torch.arange(4)
    c = b + 1
    d = torch.arange(4, device=torch.device("cuda", 0))
    e = torch.tensor(1.0) - a
    return c, d, e


def test_what_is_made_in_host_memory_is_marked_on_a_cuda_device() -> None:
    wire = from_graph(trace_pattern(positions))
    inputs = [{"shape": [1, 2, 4, 4], "dtype": "float16"}, {"shape": [3, 2, 1, 1], "dtype": "float16"}]
    types = propagate(wire, inputs, "cuda")
    shapes = [of["host"]["shape"] if "host" in of else of["shape"] for of in types]
    assert shapes == [[1, 2, 4, 4], [3, 2, 1, 1], [1, 3, 4, 4], [4], [4], [4], [], [1, 3, 4, 4]]
    assert ["host" in of for of in types] == [False, False, False, True, True, False, True, False]


def attend(q: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q.transpose(1, 2), q.transpose(1, 2), q.transpose(1, 2))


@pytest.mark.skipif(torch.cuda.is_available(), reason="attention on this GPU may have the layout of the CPU")
def test_strides_are_those_of_the_device() -> None:
    wire = from_graph(trace_pattern(attend))
    inputs = [{"shape": [1, 128, 8, 64], "dtype": "float16"}]
    strides = {device: propagate(wire, inputs, device)[-1]["stride"] for device in ("cpu", "cuda")}
    assert strides["cpu"] != strides["cuda"]


def enlarge(x: torch.Tensor) -> torch.Tensor:
    grid = x.transpose(1, 2).reshape(1, -1, 2, 2)
    return torch.nn.functional.interpolate(grid, size=(16, 16), mode="bilinear", align_corners=False)


def test_strides_of_single_dimensions_decide_the_memory_format() -> None:
    types = propagate(from_graph(trace_pattern(enlarge)), [{"shape": [1, 4, 256], "dtype": "bfloat16"}], "cpu")
    assert tuple(types[-1]["stride"]) == enlarge(torch.randn(1, 4, 256).bfloat16()).stride()


def enlarge_last(x: torch.Tensor) -> torch.Tensor:
    last = x.contiguous(memory_format=torch.channels_last)
    return torch.nn.functional.interpolate(last, scale_factor=2.0, mode="bilinear", align_corners=False)


@pytest.mark.parametrize("channels", [5, 16])
def test_enlarged_tensors_keep_their_memory_format_on_cuda(channels: int) -> None:
    inputs = [{"shape": [1, channels, 2, 16], "dtype": "float32"}]
    types = propagate(from_graph(trace_pattern(enlarge_last)), inputs, "cuda")
    # Eager mode has these strides on both devices.
    assert tuple(types[-1]["stride"]) == enlarge_last(torch.randn(1, channels, 2, 16)).stride()


def normalised_rows(x: torch.Tensor, w: torch.Tensor) -> tuple:
    grid, row = x.permute(0, 3, 1, 2), x.flatten(0, 2).t()
    one = torch.nn.functional.batch_norm(x.permute(0, 3, 2, 1), w, w.abs(), w, w)
    several = torch.nn.functional.batch_norm(grid, w, w.abs(), w, w)
    return (
        one,
        several,
        torch.nn.functional.batch_norm(row.t(), w, w.abs(), w, w),
        torch.batch_norm(x.flatten(1, 2).transpose(1, 2), w, w, w, w.abs(), False, 0.1, 1e-5, False),
    )


def test_batch_norms_of_permuted_tensors_have_a_memory_format_on_a_cpu() -> None:
    x, w = torch.randn(2, 4, 5, 6), torch.randn(6)
    types = propagate(
        from_graph(trace_pattern(normalised_rows)),
        [{"shape": list(value.shape), "dtype": "float32"} for value in (x, w)],
        "cpu",
    )
    strides = [tuple(of["stride"]) for of in types if of["shape"] and 6 in of["shape"]]
    for result in normalised_rows(x, w):
        assert result.stride() in strides


@pytest.mark.parametrize("shape", [(2, 2, 34, 64), (2, 8, 5, 3), (1, 1, 4, 4), (3, 4, 1, 6)], ids=str)
@pytest.mark.parametrize(("shifts", "dims"), [(1, 1), (-1, -1), ((2, 1), (0, 3)), (0, 2)], ids=str)
@pytest.mark.parametrize("of", ["channels_last", "transposed", "contiguous"])
def test_a_rolled_tensor_has_the_strides_of_the_cpu(shape: tuple, shifts: Any, dims: Any, of: str) -> None:
    def roll(x: torch.Tensor) -> torch.Tensor:
        if of == "channels_last":
            x = x.contiguous(memory_format=torch.channels_last)
        elif of == "transposed":
            x = x.transpose(1, 3)
        return torch.roll(x, shifts, dims)

    found = propagate(from_graph(trace_pattern(roll)), [{"shape": list(shape), "dtype": "float32"}], "cpu")[-1]
    assert found["stride"] == list(roll(torch.randn(shape)).stride())
