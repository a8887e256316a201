"""`passnet.compile`: results are those of the model, for all kinds of calls."""

from __future__ import annotations

import collections
import inspect
import re
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode

import passnet
from compiling import OLDEST, check, image, kinds, net
from passnet import backend
from passnet._passes.load import PassDirectory

REFUSES = """
import torch

def pattern(x):
    return torch.tanh(x)

def replacement_args(x):
    return (x,)

def refuse(x):
    raise ValueError("no tensor is taken")

def replacement_func():
    return refuse
"""

Pair = collections.namedtuple("Pair", ["first", "second"])


@torch.no_grad()
def test_a_module_is_compiled_once_for_a_kind_of_call():
    compiled = passnet.compile(net())
    for _ in range(3):
        check(compiled, image())
    report = compiled.report()
    assert len(report.specialisations) == 1 and report.eager == {}
    assert report.as_dict()["specialisations"][0]["inputs"] == ["float32[2, 3, 8, 8] cpu"]
    assert "1 operations" not in repr(report) and "float32[2, 3, 8, 8]" in repr(report)


X = torch.randn(4, 5)
CALLS = {
    "positional": (lambda x, y: x + y, (X, X * 2), {}),
    "by name": (lambda x, *, y, z=1.5: (x - y) * z, (X,), {"z": 2.5, "y": X * 2}),
    "nested": (lambda p: p[0]["a"] + p[1][0] * p[1][1], (({"a": X}, [X * 2, 3]),), {}),
    "none": (lambda x, mask=None: x if mask is None else x * mask, (X * 1,), {"mask": None}),
    "named tuple": (lambda p: Pair(p.first + p.second, p.first.sum()), (Pair(X, X * 3),), {}),
    "dictionary": (lambda x: {"a": x + 1, "b": [x * 2, (x - 1, None)], "c": 7, "d": None}, (X,), {}),
    "input returned": (lambda x, y: (x, y * 2, x), (X, X + 1), {}),
    "same result twice": (lambda x: (lambda y: [y, y])(x.relu()), (X,), {}),
    "integers": (lambda x, n: x.repeat(n, 1).sum(0), (X, 3), {}),
    "dtype": (lambda x, dtype: x.to(dtype), (X, torch.float64), {}),
    "shape in the result": (lambda x: (x.shape, x.shape[0], x + 1), (X,), {}),
    "integer tensors": (lambda i: i.cumsum(0) + 1, (torch.arange(6),), {}),
    "empty": (lambda x: x.relu() + 1, (torch.empty(0, 3),), {}),
    "strided": (lambda x: x.relu() + x, (torch.randn(6, 4).t(),), {}),
    "scalar": (lambda x: x.exp() * 2, (torch.tensor(0.5),), {}),
    "complex": (lambda x: (x * x.conj()).real, (torch.randn(4, dtype=torch.complex64),), {}),
}


@pytest.mark.parametrize("name", CALLS)
@torch.no_grad()
def test_arguments_and_results_may_be_nested(name: str):
    function, args, kwargs = CALLS[name]
    compiled = passnet.compile(function)
    check(compiled, *args, **kwargs)
    # PyTorch 2.6 captures no graph that computes nothing.
    assert kinds(compiled) == int(not OLDEST or function is not CALLS["none"][0]), compiled.report()


@torch.no_grad()
def test_a_call_of_another_kind_is_another_specialisation():
    compiled = passnet.compile(lambda x, n=1: x.relu() * n)
    calls = [(X,), (X.double(),), (X[:2],), (X.t().contiguous().t(),), (X, 2), (X, 2.0), (X, True), (X.clone(), 2)]
    for call in calls:
        check(compiled, *call)
    assert kinds(compiled) == 7


@torch.no_grad()
def test_zeros_of_both_signs_are_two_constants():
    compiled = passnet.compile(lambda x, c: x * c)
    x = torch.ones(2)
    assert str(compiled(x, 0.0)[0].item()) == "0.0"
    assert str(compiled(x, -0.0)[0].item()) == "-0.0"
    assert str(compiled(x, 0.0)[0].item()) == "0.0"


@torch.no_grad()
def test_kinds_beyond_the_limit_are_left_to_the_model():
    compiled = passnet.compile(net(), limit=2)
    for size in (4, 5):
        check(compiled, image(size=size))
    with pytest.warns(RuntimeWarning, match=r"PyTorch runs calls of .* with other types or sizes: 2 kinds of calls"):
        check(compiled, image(size=6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (7, 4):
            check(compiled, image(size=size))
    assert kinds(compiled) == 2
    assert list(compiled.report().eager.values()) == [6]


def test_modes_are_noticed_between_calls():
    model = net()
    compiled = passnet.compile(model)
    x = image()
    with torch.no_grad():
        check(compiled, x)
    with torch.inference_mode():
        check(compiled, x)
        assert compiled(x).is_inference()
    assert compiled(x).requires_grad
    with torch.no_grad():
        with torch.autocast("cpu"):
            assert compiled(x).dtype == torch.bfloat16
        found = torch.func.vmap(compiled)(torch.stack([x, x + 1]))
        torch.testing.assert_close(found, torch.stack([model(x), model(x + 1)]), rtol=1e-4, atol=1e-5)
        assert not compiled(x).requires_grad


class Doubled(TorchFunctionMode):
    """Changes what a function computes."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.nn.functional.gelu else result


@torch.no_grad()
def test_modes_of_the_caller_see_the_operations():
    model = torch.nn.Sequential(torch.nn.GELU(), torch.nn.Softsign())
    compiled, constant = passnet.compile(model), passnet.compile(lambda: torch.ones(3) * 2)
    x = torch.randn(4, 4)
    for _ in range(2):
        check(compiled, x)
        check(constant)
        with Doubled():
            torch.testing.assert_close(compiled(x), model(x))
        with FakeTensorMode(allow_non_fake_inputs=True):
            assert isinstance(compiled(x), FakeTensor)
        traced = torch.jit.trace(torch.nn.Sequential(compiled), x)
        torch.testing.assert_close(traced(x + 1), model(x + 1))
        with torch.device("meta"):
            assert constant().is_meta
    assert kinds(compiled) == kinds(constant) == 1


def test_models_of_other_kinds_are_compiled():
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()), torch.randn(2, 4)
    with torch.no_grad():
        traced = [torch.jit.trace(model, x), torch.fx.symbolic_trace(model), torch.export.export(model, (x,)).module()]
        for other in traced:
            check(passnet.compile(other), x)
    assert inspect.signature(passnet.compile(model)) == inspect.signature(model.forward)


class Tagged(torch.Tensor):
    pass


@torch.no_grad()
def test_subclasses_of_tensors_are_left_to_the_model():
    compiled = passnet.compile(lambda x: x + 1)
    assert isinstance(compiled(torch.ones(2).as_subclass(Tagged)), Tagged)
    assert not isinstance(compiled(torch.ones(2)), Tagged)


@torch.no_grad()
def test_writes_to_arguments_reach_the_caller():
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2).add_(y)
        return x.relu() + 1

    compiled = passnet.compile(write)
    for _ in range(3):
        ours, theirs = X.clone(), X.clone()
        torch.testing.assert_close(compiled(ours, X), write(theirs, X))
        torch.testing.assert_close(ours, theirs)


@torch.no_grad()
def test_arguments_that_share_memory():
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2).add_(1)
        return (x.sigmoid() + y.relu()) * y

    compiled = passnet.compile(write)
    for distance in (64, 64, 3, 0, 64):
        ours, theirs = torch.arange(128.0) / 32 - 2, torch.arange(128.0) / 32 - 2
        found = compiled(ours[:64], ours[distance : distance + 64])
        torch.testing.assert_close(found, write(theirs[:64], theirs[distance : distance + 64]))
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("verify", [True, False])
@torch.no_grad()
def test_results_that_share_memory(verify: bool):
    def views(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.nn.functional.gelu(x) * 2
        return y, y.t(), y[0], x.t()

    compiled = passnet.compile(views, verify=verify)
    for _ in range(3):
        x = torch.randn(4, 4)
        whole, turned, row, given = compiled(x)
        torch.testing.assert_close((whole, turned, row, given), views(x))
        whole.zero_()
        x.fill_(3)
        assert not turned.any() and not row.any() and given.eq(3).all()


@torch.no_grad()
def test_one_tensor_in_two_places():
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * y

    compiled = passnet.compile(write)
    torch.testing.assert_close(compiled(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))
    for _ in range(2):
        x = torch.ones(3)
        torch.testing.assert_close(compiled(x, x), torch.full((3,), 4.0))


@torch.no_grad()
def test_code_that_no_graph_can_hold_runs_through_torch_compile():
    seen: list[int] = []

    class Breaks(torch.nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.relu()
            seen.append(1)
            self.calls += 1
            if y.sum().item() > 1:
                return y + 1
            return y - 1

    model = Breaks()
    compiled = passnet.compile(model)
    for number, x in enumerate([torch.ones(4), -torch.ones(4), torch.ones(4)], 1):
        torch.testing.assert_close(compiled(x), x.relu() + (1 if x[0] > 0 else -1))
        assert len(seen) == number and model.calls == number
    first, second = compiled.report().eager
    assert first.startswith("not one graph, tried again") and second.startswith("not one graph, run by torch.compile")
    assert f"({__file__}:" in first


@torch.no_grad()
def test_effects_in_python_happen_in_each_call():
    seen: list[torch.Tensor] = []

    def collect(x: torch.Tensor) -> torch.Tensor:
        seen.append(x + 1)
        return x.relu()

    compiled = passnet.compile(collect)
    for number in range(1, 4):
        torch.testing.assert_close(compiled(X * number), (X * number).relu())
        assert len(seen) == number
        torch.testing.assert_close(seen[-1], X * number + 1)


WEIGHT = torch.ones(5)


@torch.no_grad()
def test_tensors_from_elsewhere_are_not_frozen():
    global WEIGHT
    compiled = passnet.compile(lambda x: x.relu() * WEIGHT)
    check(compiled, X)
    WEIGHT = torch.full((5,), 2.0)
    check(compiled, X)


@torch.no_grad()
def test_an_exception_of_the_model_is_the_callers():
    def refuse(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] != 4:
            raise KeyError("four rows")
        return x.relu()

    compiled = passnet.compile(refuse)
    check(compiled, X)
    for _ in range(2):
        with pytest.raises(KeyError, match="four rows"):
            compiled(X[:2])
    check(compiled, X)


@torch.no_grad()
def test_tensors_without_elements():
    def pieces(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.relu() * 2, x.sum(), torch.cat([x, x + 1]), x.reshape(-1), x.t().reshape(4, -1, 1) * 2

    compiled = passnet.compile(pieces)
    for rows in (0, 3, 0):
        check(compiled, torch.randn(rows, 4))
    assert kinds(compiled) == 2, compiled.report()


@torch.no_grad()
def test_calls_from_several_threads():
    compiled = passnet.compile(net())
    faults: list[str] = []

    def work(seed: int) -> None:
        with torch.no_grad():
            for number in range(30):
                x = torch.full((1 + (seed + number) % 3, 3, 8, 8), float(seed + 1))
                if not torch.allclose(compiled(x), compiled.model(x), rtol=1e-3, atol=1e-4):
                    faults.append(f"thread {seed}, call {number}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert kinds(compiled) == 3


@torch.no_grad()
def test_a_compiled_model_may_be_called_by_torch_compile():
    compiled = passnet.compile(net())
    outer = torch.compile(lambda x: compiled(x) * 2, backend="eager", fullgraph=True)
    x = image()
    check(compiled, x)
    for _ in range(2):
        torch.testing.assert_close(outer(x), compiled.model(x) * 2, rtol=1e-4, atol=1e-5)
    torch._dynamo.reset()


@pytest.mark.parametrize("options", [{"author": "me"}, {"cuda_graphs": "yes"}, {"limit": 0}])
def test_other_values_of_options_are_refused(options: dict[str, Any]):
    with pytest.raises(ValueError, match=next(iter(options)) if "author" not in options else "author"):
        passnet.compile(net(), **options)


@pytest.mark.parametrize("reason", ["limit", "unfaithful", "pass", "no match"])
def test_warnings_point_at_the_call(reason: str, write_passes: Callable[..., Path]):
    torch._dynamo.reset()
    passes = [PassDirectory.load(write_passes(wrong=REFUSES))]
    calls = {
        "limit": passnet.compile(torch.nn.GELU(), limit=1),
        "unfaithful": passnet.compile(lambda x: x * 3 if torch.compiler.is_compiling() else torch.tanh(x)),
        "pass": torch.compile(torch.nn.Sequential(torch.nn.Tanh()), backend=backend.Backend(passes, falls_back=True)),
        "no match": torch.compile(torch.nn.GELU(), backend=backend.Backend(passes, falls_back=True)),
    }
    with pytest.warns(RuntimeWarning, match="PyTorch|no pass") as seen, torch.no_grad():
        [calls[reason](torch.ones(size)) for size in (3, 4)]
    # PyTorch has warnings of its own with some versions of Python.
    ours = [warning for warning in seen if re.search("PyTorch|no pass", str(warning.message))]
    assert {warning.filename for warning in ours} == {__file__}
