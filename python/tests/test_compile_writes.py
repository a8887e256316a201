"""Calls that write to buffers or arguments, when a replacement raises an exception."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import passnet
import passnet.backend
from authored import texts
from passnet import _native
from passnet._backend import author, omitted
from passnet._passes.canonical import canonical_calls

_SCALED = """
import torch
from passnet import _native

# Long, so that the replacement is faster on any machine.
def pattern(x):
    for _ in range(30):
        x = torch.relu(x)
    return x * 3

def replacement_args(x):
    return (x,)

class State:
    fails = launches = False

def fused(x):
    if State.launches:
        _native.count_launch()
    if State.fails:
        raise ValueError("fails on request")
    return x.clamp(min=0) * 3

def replacement_func():
    return fused
"""


class Counting(torch.nn.Module):
    """Writes to its buffer and its argument before the operations that the pass replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        x.sub_(0.5)
        y = x - self.count
        for _ in range(30):
            y = torch.relu(y)
        return y * 3


def _compiled(write_passes: Callable[..., Path], model: torch.nn.Module) -> tuple[passnet.Compiled, type]:
    compiled = passnet.compile(model, passes=write_passes(scaled=_SCALED), author=None)
    x = torch.arange(12.0).reshape(3, 4)
    for _ in range(3):
        compiled(x.clone())
    (built,) = compiled.report().as_dict()["specialisations"]
    assert [region["kept"] for region in built["regions"]] == [True], built
    (rule,) = compiled._known
    return compiled, rule.replacement.__globals__["State"]


@torch.no_grad()
def test_the_pattern_is_computed_if_no_kernel_was_launched(write_passes: Callable[..., Path]):
    ours, theirs = Counting().eval(), Counting().eval()
    compiled, state = _compiled(write_passes, ours)
    theirs.load_state_dict(ours.state_dict())
    state.fails = True
    for number in range(3):
        x, y = (torch.arange(12.0).reshape(3, 4) + 9 for _ in range(2))
        if number == 0:
            with pytest.warns(RuntimeWarning, match="fails on request"):
                result = compiled(x)
        else:
            result = compiled(x)
        torch.testing.assert_close((result, x, ours.count), (theirs(y), y, theirs.count), rtol=0, atol=0)


@torch.no_grad()
def test_nothing_is_computed_twice_after_a_launch(write_passes: Callable[..., Path]):
    model = Counting().eval()
    compiled, state = _compiled(write_passes, model)
    state.fails = state.launches = True
    for number in range(4, 7):
        x = torch.zeros(3, 4)
        with pytest.raises(ValueError, match="fails on request"):
            compiled(x)
        # The writes before the replacement happened once.
        assert model.count.tolist() == [number] * 4
        assert x.eq(-0.5).all()


def test_a_region_that_reads_what_it_writes_through_another_view_is_left_to_pytorch(write_passes: Callable[..., Path]):
    """Tests a replacement that is right only for separate arguments. A comparison of few rows would not show every order of threads."""
    source = """
        def pattern(x, y):
            return x.add_(y.flip(0))

        def replacement_args(x, y):
            return (x, y)

        def fused(x, y):
            return x.add_(y.flip(0))

        def replacement_func():
            return fused
    """

    def model(x: torch.Tensor) -> torch.Tensor:
        x[1:].add_(x[:-1].flip(0))
        return x * 2

    compiled = passnet.compile(model, passes=write_passes(sums=source), author=None)
    for _ in range(3):
        x, y = (torch.arange(12.0).reshape(3, 4) for _ in range(2))
        torch.testing.assert_close((compiled(x), x), (model(y), y))
    (built,) = compiled.report().as_dict()["specialisations"]
    (region,) = built["regions"]
    assert "share memory" in region["reason"], region


@pytest.mark.parametrize("how", ["compile", "unverified", "backend"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_write_by_a_kernel_counts_as_a_write(how: str, mode: Callable[[], Any]):
    """A backward that needs the contents before the write has to raise an exception, because its gradients would be wrong."""
    torch._dynamo.reset()
    passnet.backend.register()

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(0.5).add_(y).clamp_(-1, 1)
        return torch.sigmoid(x * 2) + y

    if how == "backend":
        compiled = torch.compile(function, backend="passnet", dynamic=False)
    else:
        compiled = passnet.compile(function, verify=how == "compile")
    for _ in range(4):
        weight, x, y = torch.ones(64, 64, requires_grad=True), torch.ones(64, 64), torch.ones(64, 64)
        product = (weight * x).sum()
        with mode():
            compiled(x, y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


def _returned_too(x: torch.Tensor, y: torch.Tensor) -> Any:
    unread, returned = x @ x, x @ x.abs()
    return unread.relu_() + 1, returned.relu_() + 1, returned


def _view_read_later(x: torch.Tensor, y: torch.Tensor) -> Any:
    unread, read = x @ x, x @ x.abs()
    row = read[0]
    first, second = torch.relu_(unread) + 1, torch.relu_(read) + 1
    return first, second, row @ y


def _of_argument(x: torch.Tensor, y: torch.Tensor) -> Any:
    unread = x @ x
    first = torch.nn.functional.relu(unread, inplace=True) + 1
    return (torch.nn.functional.relu(y, inplace=True) + 1) @ (first @ x)


def _other_piece(x: torch.Tensor, y: torch.Tensor) -> Any:
    unread = x @ x
    y.t().mul_(0.5)
    result = x.tanh() + 1
    unread.t().mul_(0.5)
    return result


@pytest.mark.parametrize("function", [_returned_too, _view_read_later, _of_argument, _other_piece])
@pytest.mark.parametrize("how", ["compile", "unverified", "backend", "unverified backend"])
def test_a_pass_that_leaves_out_an_unread_write_is_not_used_where_it_is_read(
    function: Callable[..., Any], how: str, tmp_path: Path
):
    torch._dynamo.reset()
    passnet.backend.register()
    verify = "unverified" not in how
    compiled: Callable[..., Any] = passnet.compile(function, verify=verify, cache_dir=tmp_path)
    if "backend" in how:
        compiled = torch.compile(function, backend="passnet", options={"verify": verify, "cache_dir": str(tmp_path)})
    # The first values do not show the writes of ReLU.
    for sign in (1, -1, 1):
        x, y = torch.rand(8, 8) + 0.1, torch.rand(16, 16)[::2, ::2] * sign
        ours, theirs = (x * sign, y.clone()), (x * sign, y.clone())
        with torch.no_grad():
            torch.testing.assert_close(compiled(*ours), function(*theirs))
        torch.testing.assert_close(ours, theirs)


def test_passes_that_write_to_arguments_are_used_without_verification():
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.mul_(0.5)
        return x.tanh() + 1

    compiled = passnet.compile(function, verify=False)
    compiled(torch.randn(8, 8), torch.randn(8, 8))
    assert [region["kept"] for region in compiled.report().as_dict()["specialisations"][0]["regions"]] == [True]


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_the_writes_of_a_pass_are_read_from_its_text(target: str):
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.mul_(x.softmax(-1))
        return y.softmax(-1) + 1

    graphs: list[torch.fx.Graph] = []

    def backend(module: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        graphs.append(module.graph)
        return module.forward

    torch._dynamo.reset()
    torch.compile(function, backend=backend)(torch.randn(8, 8), torch.randn(8, 8))
    types = author._typed(graphs[0], "cpu")
    ((_, text),) = _native.write_passes(*types, target, "", json.dumps(canonical_calls(graphs[0])))
    assert "t1 = in1.mul_(t0)" in text
    assert omitted._made_writes(text) == {"in1", "out0"}


def test_a_library_of_the_author_leaves_out_no_write_that_is_read(tmp_path: Path):
    unread = lambda x: torch.nn.functional.relu(x @ x, inplace=True) + 1  # noqa: E731
    (text,) = texts(unread, (torch.randn(8, 8),), "cpu")
    (tmp_path / "fused_relu.py").write_text(text)
    (tmp_path / "sorted_output_pass_rule_names.json").write_text('["fused_relu"]')

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return unread(x), torch.nn.functional.relu(y, inplace=True) + 1

    compiled = passnet.compile(function, passes=[tmp_path], author=None, verify=False, cache_dir=tmp_path / "cache")
    x, y = torch.randn(8, 8), torch.randn(8, 8)
    expected = y.clone()
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, y), function(x, expected))
    torch.testing.assert_close(y, expected)
    assert [region["kept"] for region in compiled.report().as_dict()["specialisations"][0]["regions"]] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "first, second = 1, 2",
        "a = b = kernel0 = 1",
        "kernel0.x = 1",
        "x: int = 1",
        "# coding: latin-1\nname = '\u00e9'",
    ],
)
def test_texts_of_other_authors_leave_out_no_write(text: str):
    assert omitted._made_writes(text.encode("latin-1")) is None


def test_kernels_of_other_authors_under_the_authors_names_are_read():
    text = 'kernel0 = cpp("void f(float* x) { x[0] = 1; }", "void f(float* x)")\ndef kernel1(x):\n    tl.store(pointer=x)\n'
    assert omitted._made_writes(text) == set()
