"""`passnet.compile(freeze=True)`: batch norm becomes part of weights."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import passnet
from passnet._backend.cache import Store
from passnet._backend.stopwatch import Comparison
from passnet._backend.timings import Timings
from passnet._compile import build, channels, convolutions
from passnet._compile.capture import Captured, capture
from passnet._compile.convolutions import convolutions_of


def spread(model: nn.Module) -> nn.Module:
    """A model in evaluation mode whose norms have statistics and scales of their own."""
    torch.manual_seed(0)
    with torch.no_grad():
        for norm in model.modules():
            if isinstance(norm, nn.modules.batchnorm._BatchNorm):
                if norm.track_running_stats:
                    norm.running_mean.normal_()
                    norm.running_var.uniform_(0.5, 2)
                if norm.affine:
                    norm.weight.normal_()
                    norm.bias.normal_()
    return model.eval()


class Branches(nn.Module):
    """A convolution whose result is used twice, so that nothing can be folded into it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.norm(y) + y


IMAGE = (2, 3, 9, 9)
MODELS = {
    "plain": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()), IMAGE, 1),
    "bias": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4, eps=0.1)), IMAGE, 1),
    "groups": (lambda: nn.Sequential(nn.Conv2d(3, 6, 3, groups=3), nn.BatchNorm2d(6)), IMAGE, 1),
    "not affine": (lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, affine=False)), IMAGE, 1),
    "one dimension": (lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4)), (2, 3, 9), 1),
    "linear": (lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)), (7, 5), 1),
    "linear over a sequence": (lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(6)), (2, 6, 5), 0),
    "no statistics": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)),
        IMAGE,
        0,
    ),
    "two": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)),
        IMAGE,
        2,
    ),
    "other user": (Branches, IMAGE, 0),
}


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_folded_models_compute_the_same(name: str):
    build, size, folds = MODELS[name]
    model = spread(build())
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    (known,) = compiled.report().specialisations
    note = "there is no batch norm to fold" if not folds else f"{folds} batch norms are folded into weights"
    assert note in known.notes, known.notes


@torch.no_grad()
def test_training_is_not_folded():
    model = spread(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))).train()
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(IMAGE)
        before = {name: value.clone() for name, value in model.named_buffers()}
        found = compiled(x)
        model.load_state_dict(before, strict=False)
        torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_writes_that_pytorch_does_not_count_are_noticed_after_refresh():
    model = spread(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    compiled = passnet.compile(model, freeze=True)
    x = torch.randn(IMAGE)
    before = model(x)
    compiled(x)
    model[0].weight.data.mul_(2)
    torch.testing.assert_close(compiled(x), before, rtol=1e-4, atol=1e-4)
    compiled.refresh()
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    # Assignments are noticed without it.
    model[1] = spread(nn.BatchNorm2d(4))
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    compiled(x)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)


class Pyramid(nn.Module):
    """Convolutions, a pooling, a concatenation, and two results of which one is an image."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.left, self.right = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 1)
        self.norm, self.head = nn.BatchNorm2d(16), nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = nn.functional.max_pool2d(self.stem(x), 2)
        y = torch.relu(self.norm(torch.cat([self.left(x), self.right(x).sigmoid()], 1)))
        return y, self.head(y.mean((2, 3)))


@pytest.mark.parametrize("is_faster", [True, False])
@pytest.mark.parametrize("freeze", [True, False])
@torch.no_grad()
def test_images_are_laid_out_with_channels_innermost_where_that_is_faster(
    freeze: bool, is_faster: bool, monkeypatch: pytest.MonkeyPatch
):
    kept: list[bool] = []

    def decide(*arguments: Any, **options: Any) -> str:
        note = channels.channels_last(*arguments, **options)
        kept.append(note == "images have their channels innermost")
        return note

    monkeypatch.setattr(channels, "_is_faster", lambda *_: is_faster)
    monkeypatch.setattr(build, "channels_last", decide)
    model = spread(Pyramid())
    compiled = passnet.compile(model, freeze=freeze)
    for _ in range(3):
        x = torch.randn(2, 3, 16, 16)
        found, expected = compiled(x), model(x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        assert [value.stride() for value in found] == [value.stride() for value in expected]
    assert kept == [is_faster]
    # A changed weight counts in the next call, where the model is compiled again or the weight is laid out in each call.
    next(model.parameters()).mul_(2)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert len(kept) == (2 if freeze else 1)
    assert compiled.report().eager == {}


@torch.no_grad()
def test_a_graph_that_other_layouts_break_keeps_its_own():
    class Flat(Pyramid):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            # Reads the memory in its order, which another layout changes.
            return super().forward(x)[0].as_strided((2, 1024), (1024, 1)) + 1

    model = spread(Flat())
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(2, 3, 16, 16)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert any("kept: the result would be another" in note for note in compiled.report().specialisations[0].notes)


class Speech(nn.Module):
    """Sequences that become images: a normalised weight, groups, strides, padding by name, a view, and an embedding of patches."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 8, 10, stride=5, bias=False)
        self.second = nn.Conv1d(8, 8, 3, padding="same", groups=2)
        self.third = nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 6, kernel_size=4, dilation=2, padding=3))
        self.norm, self.patches = nn.GroupNorm(2, 8), nn.Conv2d(3, 6, 4, stride=4)

    def forward(self, x: torch.Tensor, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = nn.functional.gelu(self.norm(self.first(x)))
        x = self.third(self.second(x)) + 1
        patches = self.patches(images).view(images.shape[0], 6, -1)
        return x, torch.cat([x, patches], 2).transpose(1, 2)


def laid_out_once(graph: torch.fx.Graph, captured: Captured, frozen: bool) -> set[torch.fx.Node]:
    places = [node for node in graph.nodes if node.op == "placeholder"]
    return channels._laid_out_once(places[len(captured.used) :], convolutions_of(graph)) if frozen else set()


@pytest.mark.parametrize("frozen", [True, False])
@torch.no_grad()
def test_sequences_are_images_of_one_row_in_the_other_layout(frozen: bool):
    model = spread(Speech())
    given = torch.randn(2, 1, 200), torch.randn(2, 3, 16, 16)
    captured = capture(model, given, {})
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(captured.module.graph, {}))
    calls = convolutions_of(graph)
    assert [convolution.dimensions for convolution in calls] == [1, 1, 1, 2]
    images = [node for node in graph.nodes if node.op == "placeholder"][1:2]
    state = channels._relay(captured, graph, calls, images, laid_out_once(graph, captured, frozen))
    relaid = torch.fx.GraphModule(captured.module, graph)
    found, expected = relaid(*captured.example[:2], *state), captured.module(*captured.example)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    # Frozen weights are laid out once; the normalised one is computed in each call.
    moved = [node for node in graph.nodes if node.target == "contiguous"]
    assert len(moved) == len(images) + 3 + (1 if frozen else 4)
    assert sum(value.is_contiguous() for value in state) == len(state) - (2 if frozen else 0)


@pytest.mark.parametrize("frozen", [True, False])
@torch.no_grad()
def test_convolutions_of_single_channels_keep_their_layout_except_on_a_cpu(frozen: bool):
    layers = [nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1)]
    model = spread(nn.Sequential(*layers))
    captured = capture(model, (torch.randn(2, 3, 9, 7),), {})
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(captured.module.graph, {}))
    calls = convolutions_of(graph)
    assert not any(convolution.keeps_layout for convolution in calls)
    for node in graph.nodes:
        if isinstance(value := node.meta.get("example_value"), torch.Tensor):
            node.meta["example_value"] = value.to("meta")
    assert [convolution.keeps_layout for convolution in calls] == [False, True, False]
    x, weight = torch.randn(2, 8, 9, 7), torch.randn(8, 1, 3, 3)
    timed = convolutions._relaid(calls[1], convolutions.innermost(x), weight, None)
    torch.testing.assert_close(timed, torch.conv2d(x, weight, None, 1, 1, 1, 8))
    assert timed.is_contiguous(memory_format=torch.channels_last)
    images = [node for node in graph.nodes if node.op == "placeholder"][:1]
    state = channels._relay(captured, graph, calls, images, laid_out_once(graph, captured, frozen))
    relaid = torch.fx.GraphModule(captured.module, graph)
    torch.testing.assert_close(relaid(*captured.example[:1], *state), captured.module(*captured.example))
    # The images are copied before the call, and its result after it.
    kept = [node for node in graph.nodes if node.target == torch.conv2d][1]
    source, moved = kept.args[0], next(iter(kept.users))
    assert (source.target, source.kwargs, len(kept.users)) == ("contiguous", {}, 1)
    assert (moved.target, moved.kwargs) == ("contiguous", {"memory_format": torch.channels_last})
    assert all(value.is_contiguous() for value in state if value.dim() == 4 and value.shape[1] == 1)


@torch.no_grad()
def test_only_the_largest_kinds_of_convolutions_are_timed():
    big = [nn.Conv2d(16, 16, 3, padding=1) for _ in range(5)]
    model = spread(nn.Sequential(nn.Conv2d(3, 16, 1), *big, nn.Conv2d(16, 4, 1), nn.Conv2d(4, 4, 3)))
    captured = capture(model, (torch.randn(1, 3, 32, 32),), {})
    found = convolutions_of(captured.module.graph)
    kinds = {convolution.kind for convolution in found}
    largest = convolutions._largest(found, 0.6)
    assert (len(found), len(kinds)) == (8, 4)
    assert len(largest) == 5 and {convolution.kind for convolution in largest} == {found[1].kind}


@torch.no_grad()
def test_layouts_are_timed_by_convolutions():
    model = spread(Speech())
    captured = capture(model, (torch.randn(2, 1, 200), torch.randn(2, 3, 16, 16)), {})
    graph = captured.module.graph
    for frozen in (True, False):
        once = laid_out_once(graph, captured, frozen)
        times = channels.time_layouts(convolutions_of(graph), (), once, graphed=False)
        assert times.eager_ns > 0 and times.fused_ns > 0


def convolve(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    for weight in weights:
        x = torch.conv2d(x, weight).relu()
    return x


class Convolve(nn.Module):
    def __init__(self, weights: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, *self.weights)


@torch.no_grad()
def test_weights_that_are_arguments_are_laid_out_in_each_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    x, weights = torch.randn(1, 4, 12, 12), [torch.randn(4, 4, 3, 3) for _ in range(3)]
    timed: list[tuple[int, int]] = []

    def time_layouts(_: Any, images: Sequence[Any], once: Collection[Any], **__: Any) -> Comparison:
        timed.append((len(images), len(once)))
        return Comparison((2.0,) * 3, (1.0,) * 3)

    monkeypatch.setattr(channels, "time_layouts", time_layouts)
    monkeypatch.setattr(channels, "device_of", lambda _: torch.device("meta"))
    timings, moved = Timings(Store(tmp_path), torch.device("cpu")), []
    for model, given in ((convolve, (x, *weights)), (Convolve(weights), (x,))):
        captured = capture(model, given, {})
        assert channels.channels_last(captured, captured.example, timings, frozen=True).startswith("images have")
        torch.testing.assert_close(captured.module(*captured.example)[0], convolve(x, *weights), rtol=1e-4, atol=1e-4)
        moved.append(sum(node.target == "contiguous" for node in captured.module.graph.nodes))
    # Both graphs have the same text, but only frozen weights are no part of the time. The image and the result are copied too.
    assert timed == [(1, 0), (1, 3)] and moved == [5, 2]


@torch.no_grad()
def test_results_in_the_memory_of_an_argument_keep_the_layout(monkeypatch: pytest.MonkeyPatch):
    class Flat(Pyramid):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return *super().forward(x), x.view(x.shape[0], -1)

    monkeypatch.setattr(channels, "_is_faster", lambda *_: True)
    model = spread(Flat())
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(2, 3, 16, 16)
        *found, view = compiled(x)
        torch.testing.assert_close(found, list(model(x)[:2]), rtol=1e-4, atol=1e-4)
        assert view.data_ptr() == x.data_ptr()
    assert any("shares memory with an argument" in note for note in compiled.report().specialisations[0].notes)


@torch.no_grad()
def test_a_fold_takes_no_random_numbers_from_the_caller():
    model = spread(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout2d(0.5)))
    model[3].train()
    compiled = passnet.compile(model, freeze=True)
    for number in range(3):
        x = torch.randn(2, 3, 6, 6)
        torch.manual_seed(number)
        expected, drawn = model(x), torch.rand(3)
        torch.manual_seed(number)
        torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-4)
        assert torch.equal(torch.rand(3), drawn)
    assert "1 batch norms are folded into weights" in compiled.report().specialisations[0].notes
