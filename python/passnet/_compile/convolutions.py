"""Finds the convolutions of a captured graph, and times them in two layouts: the captured layout, and channels innermost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from passnet._backend.stopwatch import Comparison, compare_times
from passnet._compile.layers import CONVOLUTIONS

Call = Callable[[], Any]

# Not all convolutions are timed, only the largest kinds that together make up this share of the work: the first share, and if the
# times do not decide, the second. Libraries prepare each kind for 50 to 100 ms.
_SHARES = (0.4, 0.6)
# The times decide if the time with channels innermost, relative to that in the captured layout, is outside of this interval.
_UNDECIDED = (0.85, 0.95)

# Number of operations that a GPU computes in the time in which it moves one byte.
_PER_BYTE = 100

_NAMES = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")


@dataclass(frozen=True)
class Convolution:
    """A call of `torch.conv1d` or `torch.conv2d` with a batch."""

    node: torch.fx.Node

    @property
    def dimensions(self) -> int:
        """Number of spatial dimensions: 1 for sequences, 2 for images."""
        return CONVOLUTIONS[self.node.target]

    @property
    def keeps_layout(self) -> bool:
        """True if the images are copied into the captured layout before the call: in convolutions of single channels on a GPU.

        With channels innermost, cuDNN prepares such a call for 0.2 to 0.5 seconds, and other ones for some milliseconds. With the
        captured layout, PyTorch has a kernel of its own. The author's kernels need no copies.
        """
        weight = type_of(self.given["weight"])
        return (
            self.dimensions == 2
            and weight.device.type != "cpu"
            and weight.shape[1] == 1
            and (self.given["groups"] or 1) > 1
        )

    @property
    def kind(self) -> tuple[Any, ...]:
        """A key that is equal for calls with arguments of the same types."""
        given = self.given
        types = (type_of(given[name]) for name in ("input", "weight", "bias"))
        known = tuple(None if value is None else (value.dtype, value.shape, value.stride()) for value in types)
        return (self.node.target, known, *(given[name] for name in _NAMES[3:]))

    @property
    def work(self) -> float:
        """Estimated time of the call, measured in bytes that a GPU moves in this time."""
        given, result = self.given, type_of(self.node)
        values = [type_of(given["input"]), type_of(given["weight"]), result]
        if result is None:
            return 0.0
        moved = sum(value.numel() * value.element_size() for value in values)
        return max(moved, 2 * result.numel() * values[1][0].numel() / _PER_BYTE)

    @property
    def given(self) -> dict[str, Any]:
        """Returns the arguments by name; None for arguments that are left out."""
        return {**dict.fromkeys(_NAMES), **dict(zip(_NAMES, self.node.args, strict=False)), **self.node.kwargs}

    def on_images(self, images: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
        """Returns the arguments of `torch.conv2d` for the same computation. Sequences become images of one row."""
        given = self.given
        numbers = (given["stride"] or 1, given["padding"] or 0, given["dilation"] or 1)
        if self.dimensions == 1:
            numbers = tuple(_with_row(number, row) for number, row in zip(numbers, (1, 0, 1), strict=True))
        return (images, weight, bias, *numbers, given["groups"] or 1)


def _with_row(number: Any, row: int) -> Any:
    """Returns a stride, padding or dilation of sequences as one of images. `"same"` and `"valid"` are valid for both."""
    if isinstance(number, str):
        return number
    return (row, number[0] if isinstance(number, (tuple, list)) else number)


def convolutions_of(graph: torch.fx.Graph) -> list[Convolution]:
    """Returns the convolutions of batches of sequences and images, in the order of the graph."""
    found = [Convolution(node) for node in graph.nodes if CONVOLUTIONS.get(node.target, 3) < 3]
    return [convolution for convolution in found if _has_batches(convolution)]


def _largest(convolutions: Sequence[Convolution], share: float) -> list[Convolution]:
    """Returns the convolutions of the largest kinds that together make up this share of the work."""
    work: dict[Any, float] = {}
    for convolution in convolutions:
        work[convolution.kind] = work.get(convolution.kind, 0.0) + convolution.work
    kinds, covered = set(), 0.0
    for kind in sorted(work, key=work.__getitem__, reverse=True):
        if covered >= share * sum(work.values()):
            break
        kinds.add(kind)
        covered += work[kind]
    return [convolution for convolution in convolutions if convolution.kind in kinds]


def _has_batches(convolution: Convolution) -> bool:
    values = [type_of(convolution.given[name]) for name in ("input", "weight")]
    return all(
        value is not None and value.dtype.is_floating_point and value.dim() == convolution.dimensions + 2
        for value in values
    )


def type_of(node: Any) -> torch.Tensor | None:
    """Returns a tensor with the type of a node's value; None if the value is no tensor or its type is not known."""
    value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    return value if isinstance(value, torch.Tensor) and value.layout == torch.strided else None


def innermost(images: torch.Tensor) -> torch.Tensor:
    """Returns the images or weights with their channels innermost. Sequences become images of one row."""
    images = images.unsqueeze(2) if images.dim() == 3 else images
    return images.contiguous(memory_format=torch.channels_last)


def time_layouts(
    convolutions: Sequence[Convolution],
    images: Sequence[torch.fx.Node],
    once: Collection[torch.fx.Node],
    *,
    graphed: bool,
) -> Comparison:
    """Compares the time of the largest convolutions in the captured layout with their time with channels innermost.

    The rest of a graph takes about the same time in both layouts after fusion. With channels innermost, the time includes the
    change of layout of the inputs in `images`, and of the weights except those of `once`. The contents are random numbers.
    """
    tensors = _Tensors()
    for share in _SHARES:
        times = _compared(_largest(convolutions, share), images, once, tensors, graphed=graphed)
        low, high = _UNDECIDED
        if not low <= times.fused_ns / times.eager_ns <= high:
            break
    return times


def _compared(
    convolutions: Sequence[Convolution],
    images: Sequence[torch.fx.Node],
    once: Collection[torch.fx.Node],
    tensors: _Tensors,
    *,
    graphed: bool,
) -> Comparison:
    captured: list[Call] = []
    relaid: list[Call] = [functools.partial(innermost, tensors.of(node)) for node in images]
    for convolution in convolutions:
        given = convolution.given
        values = [tensors.of(given[name]) for name in ("input", "weight", "bias")]
        arguments = dict(zip(("input", "weight", "bias"), values, strict=True))
        captured.append(functools.partial(convolution.node.target, **_without_none(given | arguments)))
        # A weight that is also an image has the new layout already.
        is_done = given["weight"] in once or given["weight"] in images
        weight = innermost(values[1]) if is_done and not convolution.keeps_layout else values[1]
        relaid.append(functools.partial(_relaid, convolution, innermost(values[0]), weight, values[2]))
    device = type_of(convolutions[0].node).device
    with torch.no_grad():
        return compare_times(_in_turn(captured), _in_turn(relaid), device, graphed=graphed)


def _relaid(
    convolution: Convolution, images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    if convolution.keeps_layout:
        return innermost(torch.conv2d(*convolution.on_images(images.contiguous(), weight, bias)))
    return torch.conv2d(*convolution.on_images(images, innermost(weight), bias))


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _in_turn(calls: Sequence[Call]) -> Call:
    def run() -> None:
        for call in calls:
            call()

    return run


class _Tensors:
    """Makes tensors with the types of nodes' values. Values of one type get the same tensor."""

    def __init__(self) -> None:
        self.made: dict[Any, torch.Tensor] = {}

    def of(self, node: torch.fx.Node | None) -> torch.Tensor | None:
        value = type_of(node)
        if value is None:
            return None
        key = (value.dtype, value.device, tuple(value.shape), value.stride())
        if key not in self.made:
            self.made[key] = torch.empty_strided(*key[2:], dtype=key[0], device=key[1]).normal_()
        return self.made[key]
