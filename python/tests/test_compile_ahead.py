"""Launches are collected before a graph runs: none is made, and their arguments are those of the later calls."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from passnet import _native, kernels
from passnet._backend.ahead import Ahead, _long_first, _Task, launches_of
from passnet._backend.kinds import kind_of


class Jit:
    """Stands for a function of Triton, which only a GPU could launch."""

    def __getitem__(self, grid: tuple) -> object:
        raise AssertionError("launched")


def launcher() -> object:
    return _native.TritonLauncher(Jit(), ["x", "out", "n", "BLOCK"], [False, False, False, True], None, None)


def test_launches_are_collected_and_not_made():
    kernel = launcher()

    def doubled(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernel[(8,)](x, out, x.numel(), BLOCK=128)
        return out

    seen = launches_of(doubled, [torch.empty(1000)])
    [(function, arguments, named)] = seen
    assert isinstance(function, Jit)
    assert arguments == (torch.float32, torch.float32, 1000)
    assert named == {"BLOCK": 128}


def test_a_prepared_function_learns_nothing_meanwhile():
    kernel = launcher()
    calls = []

    @kernels.prepared
    def doubled(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        out = torch.empty_like(x)
        kernel[(8,)](x, out, x.numel(), BLOCK=128)
        return out

    assert len(launches_of(doubled, [torch.empty(1000)])) == 1
    assert len(launches_of(doubled, [torch.empty(1000)])) == 1
    assert len(calls) == 2


def test_pointers_that_are_not_aligned_stay():
    kernel = launcher()
    x = torch.empty(1001)[1:]

    def shifted(x: torch.Tensor) -> None:
        kernel[(8,)](x, x, 1000, BLOCK=128)

    [(_, arguments, _)] = launches_of(shifted, [x])
    assert arguments[0] is x


def test_a_replacement_that_computes_is_left_alone():
    kernel = launcher()

    def sums(x: torch.Tensor) -> torch.Tensor:
        if float(x.sum()) > 0:
            kernel[(8,)](x, x, 1000, BLOCK=128)
        return x

    assert launches_of(sums, [torch.empty(1000)]) == []


def test_launches_are_made_again_afterwards():
    kernel = launcher()

    def launch(x: torch.Tensor) -> None:
        kernel[(8,)](x, x, 1000, BLOCK=128)

    launches_of(launch, [torch.empty(1000)])
    # Without a GPU the launch fails before Triton is asked for it.
    with pytest.raises((AssertionError, RuntimeError), match=r"launched|CUDA|cuda"):
        launch(torch.empty(1000))


def test_kernels_with_long_sources_are_compiled_first():
    assert _long_first([]) == []
    assert _long_first([100, 90, 900, 110, 800]) == [2, 4, 0, 1, 3]


def test_a_place_waits_for_its_own_kernels_and_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    tasks = [_Task((tmp_path / name).touch, length) for name, length in (("a", 10), ("b", 10), ("long", 90))]
    tasks.append(_Task(lambda: time.sleep(600), 10))
    x = torch.ones(3)
    rule = SimpleNamespace(name="pass")
    # The place of the pass needs the first three kernels. The fourth is of a later place.
    needed = {("pass", kind_of(x)): 3}
    with Ahead(tasks, needed) as compiled:
        compiled.wait_for(rule, [x])
        assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "long"}
