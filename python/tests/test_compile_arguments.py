"""Properties of arguments that the code of a model can read: the order of names, the types of keys, and attributes of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
