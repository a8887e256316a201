"""Properties of arguments that the code of a model can read: the order of names, the types of keys, and attributes of tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch

import passnet

Call = tuple[tuple[Any, ...], dict[str, Any]]


class Box:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def values(offset: float = 0) -> torch.Tensor:
    return torch.linspace(-2, 2, 6) + offset


def joined(**parts: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.relu(part) * 2 for part in parts.values()])


def orders_of_keywords() -> Iterator[Call]:
    for _ in range(3):
        yield (), {"a": values(), "b": values(1)}
    for _ in range(3):
        yield (), {"b": values(1), "a": values()}


def first_attribute(box: Box) -> torch.Tensor:
    return torch.relu(next(iter(vars(box).values()))) * 2


def orders_of_attributes() -> Iterator[Call]:
    for _ in range(3):
        yield (Box(a=values(), b=values(1)),), {}
    for _ in range(3):
        yield (Box(b=values(1), a=values()),), {}


def has_truth(x: torch.Tensor, parts: dict[Any, torch.Tensor]) -> torch.Tensor:
    return torch.relu(x) * 2 + (5 if any(key is True for key in parts) else 1)


def equal_keys() -> Iterator[Call]:
    for key in (1, 1, True, True, 1.0, 1):
        yield (values(), {key: values()}), {}


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * x.scale


def scales() -> Iterator[Call]:
    for scale in (1.0, 1.0, 2.0, 2.0, 1.0):
        x = values()
        x.scale = scale
        yield (x,), {}


def perhaps_scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * getattr(x, "scale", 3)


def absent_scales() -> Iterator[Call]:
    for _ in range(3):
        yield (values(),), {}
    yield from scales()


def with_gradient(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) * 2 if x.grad is None else torch.relu(x) * 2 + x.grad


def gradients() -> Iterator[Call]:
    x = values().requires_grad_()
    for gradient in (None, None, values(1), values(1), None):
        x.grad = gradient
        yield (x,), {}


def same_identity(x: torch.Tensor, other: int) -> torch.Tensor:
    return torch.relu(x) * (2 if id(x) == other else 3)


def identities() -> Iterator[Call]:
    x, y = values(), values()
    for given in (x, x, y, y, x):
        yield (given, id(x)), {}


CASES = [
    (joined, orders_of_keywords),
    (first_attribute, orders_of_attributes),
    (has_truth, equal_keys),
    (scaled, scales),
    (perhaps_scaled, absent_scales),
    (with_gradient, gradients),
    (same_identity, identities),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(("function", "calls"), CASES)
@torch.no_grad()
def test_what_the_code_reads_from_arguments_is_compared(
    function: Callable[..., torch.Tensor], calls: Callable[[], Iterator[Call]], verify: bool
):
    torch._dynamo.reset()
    compiled = passnet.compile(function, verify=verify)
    for args, kwargs in calls():
        torch.testing.assert_close(compiled(*args, **kwargs), function(*args, **kwargs))


@torch.no_grad()
def test_attributes_that_all_tensors_have_prevent_no_capture():
    def function(x: torch.Tensor) -> torch.Tensor:
        is_usual = hasattr(x, "shape") and x.is_contiguous() and x.layout == torch.strided and not x.is_cuda
        return torch.relu(x) * (x.dim() + x.size(0)) if is_usual else x

    compiled = passnet.compile(function, verify=False)
    for _ in range(3):
        compiled(values())
    assert not compiled.report().as_dict()["eager"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@torch.no_grad()
def test_an_attribute_that_tensors_lack_prevents_no_capture_and_is_compared():
    compiled = passnet.compile(perhaps_scaled, verify=False)
    x = values()
    for _ in range(2):
        torch.testing.assert_close(compiled(x), perhaps_scaled(x))
    assert not compiled.report().as_dict()["eager"]
    x.scale = 0.5
    torch.testing.assert_close(compiled(x), perhaps_scaled(x))
    del x.scale
    torch.testing.assert_close(compiled(x), perhaps_scaled(x))


@torch.no_grad()
def test_a_keyword_argument_that_is_asked_for_an_attribute_prevents_no_capture():
    # As transformers asks whether a tensor is one of JAX.
    def function(*, x: torch.Tensor) -> torch.Tensor:
        return x if hasattr(x, "jax") else torch.relu(x) * 2

    compiled = passnet.compile(function, verify=False)
    for _ in range(2):
        torch.testing.assert_close(compiled(x=values()), torch.relu(values()) * 2)
    assert not compiled.report().as_dict()["eager"]


def kinds_of_a_leaf() -> Iterator[torch.Tensor]:
    leaf = values().requires_grad_()
    yield from (leaf, leaf * 2, leaf * 2, leaf)


def kinds_of_a_view() -> Iterator[torch.Tensor]:
    yield from (values(), torch.ones(9)[:6], torch.ones(9)[3:], values())


def kinds_of_results() -> Iterator[torch.Tensor]:
    parts = values().repeat(2).requires_grad_().chunk(2)
    yield from (parts[0], parts[1], parts[1], parts[0])


UNGUARDED: dict[str, tuple[Callable[[torch.Tensor], object], Callable[[], Iterator[torch.Tensor]]]] = {
    "leaf": (lambda x: x.is_leaf, kinds_of_a_leaf),
    "by name": (lambda x: getattr(x, "is_leaf"), kinds_of_a_leaf),  # noqa: B009
    "base": (lambda x: x._base is None, kinds_of_a_view),
    "number": (lambda x: x.output_nr == 0, kinds_of_results),
}


@pytest.mark.parametrize("name", UNGUARDED)
def test_attributes_without_guards_are_compared(name: str):
    reads, given = UNGUARDED[name]

    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * (2 if reads(x) else 3) + 1

    compiled = passnet.compile(model)
    for x in given():
        torch.testing.assert_close(compiled(x), model(x))
    assert compiled.report().specialisations


@pytest.mark.parametrize("make", [lambda: [1], lambda: {"a": 1}, lambda: Box(a=1)])
@torch.no_grad()
def test_one_container_as_two_arguments_is_another_kind_of_call(make: Callable[[], Any]):
    def model(x: torch.Tensor, first: Any, second: Any) -> torch.Tensor:
        return torch.relu(x) * (2 if first is second else 3) + 1

    one = make()
    for calls in (((make(), make()), (one, one)), ((one, one), (make(), make()))):
        compiled = passnet.compile(model)
        for pair in (*calls, *calls):
            torch.testing.assert_close(compiled(values(), *pair), model(values(), *pair))
        assert len(compiled.report().specialisations) == 2 and not compiled.report().eager


@torch.no_grad()
def test_one_object_as_two_arguments_gets_the_effects_of_both():
    def model(x: torch.Tensor, first: Box, second: Box) -> torch.Tensor:
        first.kept = x * 2
        return torch.relu(x) + second.kept

    compiled = passnet.compile(model)
    for _ in range(2):
        one, other = Box(kept=values(1)), Box(kept=values(2))
        for first, second in ((one, other), (one, one), (other, other)):
            torch.testing.assert_close(compiled(values(3), first, second), model(values(3), first, second))


class Doubled(NamedTuple("Doubled", [("first", torch.Tensor), ("factor", float)])):
    """A named tuple whose class changes what it is called with, and whose instances may have attributes."""

    def __new__(cls, first: torch.Tensor, factor: float = 1.0) -> Doubled:
        return super().__new__(cls, first, factor * 2)


@torch.no_grad()
def test_named_tuples_are_made_again_without_their_class():
    def make(x: torch.Tensor) -> Doubled:
        return Doubled(torch.relu(x) * 2, 3.0)

    def take(pair: Doubled) -> torch.Tensor:
        return torch.relu(pair.first) * pair.factor + getattr(pair, "shift", 1)

    made, taken = passnet.compile(make), passnet.compile(take)
    for _ in range(3):
        found = made(values())
        assert type(found) is Doubled and found.factor == 6.0
    assert not made.report().eager
    for shift in (None, 5, 6, None):
        pair = Doubled(values())
        if shift is not None:
            pair.shift = shift
        for _ in range(2):
            torch.testing.assert_close(taken(pair), take(pair))


@torch.no_grad()
def test_dictionaries_that_make_missing_items_are_left_to_pytorch():
    def make(x: torch.Tensor) -> dict[str, list[torch.Tensor]]:
        parts: dict[str, list[torch.Tensor]] = defaultdict(list)
        parts["a"].append(torch.relu(x) * 2)
        return parts

    def take(parts: dict[str, Any]) -> torch.Tensor:
        return torch.relu(parts["a"]) * 2 + parts["other"]

    made, taken = passnet.compile(make), passnet.compile(take)
    for number in (1, 1, 2, 2):
        found = made(values())
        assert found.default_factory is list and torch.equal(found["a"][0], torch.relu(values()) * 2)
        parts = [defaultdict(lambda number=number: number, a=values()) for _ in range(2)]
        torch.testing.assert_close(taken(parts[0]), take(parts[1]))
        assert parts[0]["other"] == number
    assert not made.report().specialisations and len(made.report().eager) == 1
