"""Types of values on a device that is not there."""

from __future__ import annotations

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
