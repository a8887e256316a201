"""Small programs: `passnet.compile` and the backend compute what each computes without them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import passnet
from compiling import VERSION
from passnet import backend
from programs import (
    Program,
    calls,
    contexts,
    control_flow,
    gradients,
    inputs,
    libraries,
    lifetimes,
    modules,
    numeric,
    programs_of,
    state,
    surroundings,
    transforms,
    types,
    views,
    writes,
)

GROUPS = [control_flow, writes, views, surroundings, contexts, gradients, types, calls, state, modules]
GROUPS += [inputs, numeric, lifetimes, transforms, libraries]
PROGRAMS = [program for group in GROUPS for program in programs_of(group)]

# The backend writes and compiles kernels for these. For the others, capture and replay are tested alone, which takes a third of the time;
# `test_compile_situations.py` has programs with kernels for `passnet.compile`.
WITH_KERNELS = [writes, views]


def _is_of(program: Program, groups: list[Any]) -> bool:
    return program.__module__ in [group.__name__ for group in groups]


def by_compile(model: Callable[..., Any], _program: Program) -> Callable[..., Any]:
    return passnet.compile(model, author=None)


def by_backend(model: Callable[..., Any], program: Program) -> Callable[..., Any]:
    author = "fuse" if _is_of(program, WITH_KERNELS) else None
    return torch.compile(model, backend=backend.passnet, options={"author": author})


# `torch.compile` does not see hooks that are added to modules after the first call. It raises other exceptions in calls that it cannot
# capture, and cannot be traced.
AS_PYTORCH_COMPILES = {
    "hooks_of_modules",
    "hooks_of_all_modules",
    "assertions",
    "modes_of_training",
    "exported_afterwards",
}


@pytest.fixture(autouse=True)
def _as_in_a_fresh_process():
    torch._dynamo.reset()
    backend._backends.clear()


def kept(value: Any) -> Any:
    """A value as it is now: what the program does next does not change it."""
    if isinstance(value, torch.Tensor):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        copy.copy_(value.detach())
        return {"values": copy, "class": type(value).__name__, "wants gradient": value.requires_grad}
    if isinstance(value, dict):
        return type(value).__name__, {key: kept(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [kept(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, {
            field.name: kept(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    return value


def assert_same(found: Any, expected: Any, place: str) -> None:
    assert type(found) is type(expected), place
    if isinstance(expected, torch.Tensor):
        assert found.stride() == expected.stride(), place
        torch.testing.assert_close(
            found, expected, rtol=1e-4, atol=1e-5, equal_nan=True, msg=lambda text: f"{place}: {text}"
        )
    elif isinstance(expected, dict):
        assert list(found) == list(expected), place
        for key, value in expected.items():
            assert_same(found[key], value, f"{place}, {key}")
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), place
        for index, (part, value) in enumerate(zip(found, expected, strict=True)):
            assert_same(part, value, f"{place}, {index}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5, nan_ok=True), place
    else:
        assert found == expected, place


def _reference(program: Program, way: Callable[..., Any]) -> Callable[..., Any]:
    if way is by_backend and program.__name__ in AS_PYTORCH_COMPILES:
        return functools.partial(torch.compile, backend="eager")
    return lambda model: model


WAYS: tuple[Callable[..., Any], ...] = (by_compile, by_backend)


# `passnet.compile` and the backend share all but the capture. These groups cover the capture of the backend; the others run only with the
# long tests.
BY_BACKEND = [*WITH_KERNELS, calls, gradients, contexts]

# `test_compile_models.py` and `test_compile_objects.py` have models of the same families.
LONG = {
    "text_is_generated",
    "encoder_and_decoder",
    "classifier_with_masks",
    "auxiliary_results",
    "cache_is_passed_on",
    "stochastic_depth",
}


def _case(program: Program, way: Callable[..., Any]) -> Any:
    group = program.__module__.partition(".")[2]
    is_long = not _is_of(program, BY_BACKEND) if way is by_backend else program.__name__ in LONG
    marks = [pytest.mark.long] if is_long else []
    if program.__name__ == "default_that_is_shared" and way is by_compile and VERSION < (2, 15):
        marks.append(
            pytest.mark.skip(reason="this PyTorch captures a default value of an inlined function as a new object")
        )
    return pytest.param(program, way, id=f"{group}.{program.__name__}-{way.__name__}", marks=marks)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "way"), [_case(program, way) for program in PROGRAMS for way in WAYS])
def test_a_program_computes_what_it_computes_without_passnet(program: Program, way: Callable[..., Any]):
    results = []
    for compiled in (_reference(program, way), lambda model: way(model, program)):
        # Compilations of the reference count for the limit of recompilations of the same code.
        torch._dynamo.reset()
        torch.manual_seed(0)
        results.append([kept(value) for value in program(compiled)])
    expected, found = results
    assert_same(found, expected, "result")
