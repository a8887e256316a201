"""Methods that a program replaces on a class, code that is replaced in a function, and classes of modules that change after a capture."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator

import pytest
import torch

import passnet
from passnet._compile import traced


def helper(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x) * 2


class Plain:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Part(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scaled(x)

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.part, self.plain = torch.nn.Linear(8, 8), Part(), Plain()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.plain(helper(self.linear(x))) + self.part(x)


def other(_: object, x: torch.Tensor) -> torch.Tensor:
    return x * 5


def other_helper(x: torch.Tensor) -> torch.Tensor:
    return x * 7


class OtherPart(Part):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 11


CHANGES: dict[str, Callable[[Model, pytest.MonkeyPatch], object]] = {
    "forward of the model": lambda _, patch: patch.setattr(Model, "forward", other),
    "forward of a part": lambda _, patch: patch.setattr(Part, "forward", other),
    "method of a part": lambda _, patch: patch.setattr(Part, "scaled", other),
    "forward of a layer of PyTorch": lambda _, patch: patch.setattr(torch.nn.Linear, "forward", other),
    "call of a plain object": lambda _, patch: patch.setattr(Plain, "__call__", other),
    "call of a part": lambda _, patch: patch.setattr(Part, "__call__", other, raising=False),
    "code of a function": lambda _, patch: patch.setattr(helper, "__code__", other_helper.__code__),
    "code of a method": lambda _, patch: patch.setattr(Part.scaled, "__code__", other.__code__),
    "class of a part": lambda model, _: setattr(model.part, "__class__", OtherPart),
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@torch.no_grad()
def test_a_call_follows_a_method_or_a_class_that_changes(
    change: Callable[[Model, pytest.MonkeyPatch], object], monkeypatch: pytest.MonkeyPatch
):
    model, x = Model(), torch.randn(3, 8)
    compiled = passnet.compile(model)
    before = model(x)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), before)
    change(model, monkeypatch)
    expected = model(x)
    assert not torch.allclose(expected, before)
    torch.testing.assert_close(compiled(x), expected)
    monkeypatch.undo()


@torch.no_grad()
def test_methods_that_are_read_in_each_call_do_not_compile_again():
    model, x = Model(), torch.randn(3, 8)
    model.own = types.MethodType(other, model)
    compiled = passnet.compile(model)
    for _ in range(4):
        torch.testing.assert_close(compiled(x), model(x))
    assert len(compiled.report().specialisations) == 1 and not compiled.report().eager


@torch.no_grad()
def test_methods_are_noted_where_dynamo_does_not_say_what_it_traced(monkeypatch: pytest.MonkeyPatch):
    question = traced._question
    monkeypatch.setattr(traced, "_question", lambda _: question(None))
    model, x = Model(), torch.randn(3, 8)
    compiled = passnet.compile(model)
    compiled(x)
    monkeypatch.setattr(Part, "scaled", other)
    torch.testing.assert_close(compiled(x), model(x))
