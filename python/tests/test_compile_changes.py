"""`passnet.compile`: changes of the model are seen, and nothing of a call stays behind."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref
from typing import Any

import pytest
import torch

import passnet
from compiling import Net, check, image, kinds, net


@torch.no_grad()
def test_training_and_evaluation_are_different_calls():
    compiled, other = passnet.compile(net()), net()
    x = image()
    for training in (False, True, False, True):
        compiled.train(training)
        other.train(training)
        for _ in range(2):
            torch.manual_seed(3)
            found = compiled(x)
            torch.manual_seed(3)
            torch.testing.assert_close(found, other(x), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(dict(compiled.model.named_buffers()), dict(other.named_buffers()))
    compiled.eval().model.drop.train()
    torch.manual_seed(3)
    found = compiled(x)
    other.eval().drop.train()
    torch.manual_seed(3)
    torch.testing.assert_close(found, other(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_compilation_does_not_disturb_random_numbers():
    model = net().train()
    torch.manual_seed(5)
    expected = [model(image()), torch.rand(3)]
    compiled = passnet.compile(net().train())
    torch.manual_seed(5)
    torch.testing.assert_close([compiled(image()), torch.rand(3)], expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_changes_of_the_model_are_seen():
    model = net()
    compiled = passnet.compile(model)
    x = image()
    check(compiled, x)
    model.conv.weight.mul_(2)
    check(compiled, x)
    model.head.weight.data = torch.randn_like(model.head.weight)
    check(compiled, x)
    model.load_state_dict(Net().state_dict())
    check(compiled, x)
    model.load_state_dict(Net().state_dict(), assign=True)
    check(compiled, x)
    model.head.weight = torch.nn.Parameter(torch.randn(4, 8))
    check(compiled, x)
    model.norm.running_mean = torch.randn(8)
    check(compiled, x)
    model.head = torch.nn.Linear(8, 6)
    check(compiled, x)
    model.norm.running_var.mul_(1 / 3)
    model.half().float()
    check(compiled, x)
    model.double()
    check(compiled, x.double())
    assert compiled.report().eager == {}


@torch.no_grad()
def test_refresh_takes_other_attributes_and_reset_forgets():
    class Scaled(torch.nn.Module):
        scale = 2.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    model = Scaled()
    compiled = passnet.compile(model)
    check(compiled, image())
    model.scale = 3.0
    compiled.refresh()
    check(compiled, image())
    compiled.reset()
    assert kinds(compiled) == 0
    check(compiled, image())


@torch.no_grad()
def test_nothing_of_the_callers_is_kept():
    compiled = passnet.compile(net())
    x = image()
    result = compiled(x)
    dead = [weakref.ref(x), weakref.ref(result)]
    del x, result
    gc.collect()
    assert [reference() for reference in dead] == [None, None]
    dead = [weakref.ref(compiled), weakref.ref(compiled.model)]
    del compiled
    gc.collect()
    assert [reference() for reference in dead] == [None, None]


@torch.no_grad()
def test_a_compilation_that_fails_costs_no_result(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> None:
        raise RuntimeError("no space left")

    monkeypatch.setattr("passnet._compile.compiled.build_inference", fail)
    compiled = passnet.compile(net())
    with pytest.warns(RuntimeWarning, match="PyTorch runs .*: compilation failed: RuntimeError: no space left"):
        check(compiled, image())
    assert compiled.report().eager == {"compilation failed: RuntimeError: no space left": 3}


@torch.no_grad()
def test_copies_have_a_model_of_their_own():
    compiled = passnet.compile(net(), limit=3)
    x = image()
    check(compiled, x)
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert twin.options == compiled.options
        before = compiled(x)
        twin.model.head.weight.mul_(2)
        check(twin, x)
        torch.testing.assert_close(compiled(x), before, rtol=0, atol=0)
    assert copy.copy(compiled).model is compiled.model


@torch.no_grad()
def test_all_else_is_the_models():
    model = net()
    compiled = passnet.compile(model)
    x = image()
    check(compiled, x)
    assert list(compiled.parameters()) == list(model.parameters())
    assert compiled.state_dict().keys() == model.state_dict().keys()
    assert compiled.head is model.head and compiled.training is False
    assert compiled.double() is compiled and model.head.weight.dtype == torch.float64
    check(compiled.float().requires_grad_(False), x)
    compiled.head = torch.nn.Linear(8, 5)
    assert model.head.out_features == 5
    check(compiled, x)
    compiled.load_state_dict(compiled.state_dict())
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = compiled.nothing_like_it
    assert not hasattr(passnet.compile(lambda x: x), "parameters")


class Tempered(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self._temperature = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * 2 / self._temperature, -1)


@pytest.mark.parametrize("verify", [True, False])
@torch.no_grad()
def test_attributes_whose_names_begin_with_an_underscore_are_the_models(verify: bool):
    model = Tempered()
    compiled = passnet.compile(model, verify=verify)
    x = torch.randn(2, 4)
    check(compiled, x)
    compiled._temperature, compiled._new = 5.0, 1
    assert model._temperature == 5.0 and model._new == 1
    torch.testing.assert_close(compiled(x), torch.softmax(x * 2 / 5, -1))
    with pytest.raises(AttributeError, match="cannot be replaced"):
        compiled.model = torch.nn.Identity()


class Pipeline:
    """A callable object whose attributes have names of the compiled object's own."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model, self.options, self._entries, self._lock = model, None, 3, None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.model(x) * 2, -1)


@torch.no_grad()
def test_a_callable_object_may_have_attributes_of_any_name():
    pipeline = Pipeline(torch.nn.Linear(4, 4))
    with pytest.warns(RuntimeWarning, match="Pipeline has attributes that `passnet.compile` hides: `options`;"):
        compiled, x = passnet.compile(pipeline, verify=False), torch.randn(2, 4)
    assert compiled.model is pipeline
    check(compiled, x)


class Stateful(torch.nn.Module):
    """Has methods with names of the compiled object's own."""

    def __init__(self) -> None:
        super().__init__()
        self.count, self.options = 0, torch.nn.Linear(4, 4)

    def reset(self) -> None:
        self.count = 0

    def report(self) -> int:
        return self.count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.options(x)) * 2 + self.count


@torch.no_grad()
def test_a_warning_names_the_attributes_that_the_compiled_object_hides():
    model = Stateful()
    with pytest.warns(RuntimeWarning, match="Stateful .*: `options`, `report`, `reset`; .* `compiled.model`") as warned:
        compiled = passnet.compile(model, verify=False)
    assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copy.deepcopy(compiled)
    x = torch.randn(2, 4)
    compiled.count = 3
    check(compiled, x)
    compiled.model.reset()
    check(compiled, x)
    assert compiled.model.report() == 0


def test_models_without_such_attributes_are_compiled_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (net(), torch.nn.Sequential(torch.nn.ReLU()), torch.relu, lambda x: x):
            passnet.compile(model)


class Average(torch.nn.Module):
    """Writes in ways that PyTorch does not count."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(5))
        self.register_buffer("calls", torch.zeros(1))
        self.weight = torch.nn.Parameter(torch.ones(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean.data.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(self.calls):
            self.calls.add_(1)
        self.weight.data[1:] *= 2
        return torch.tanh(x * self.weight) * self.mean + self.calls


@pytest.mark.parametrize("wants_gradient", [False, True])
def test_writes_that_pytorch_does_not_count_happen_once(wants_gradient: bool):
    model, other = Average(), Average()
    compiled = passnet.compile(model)
    for seed in range(4):
        torch.manual_seed(seed)
        x = torch.randn(4, 5)
        with torch.set_grad_enabled(wants_gradient):
            results = compiled(x), other(x)
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(model.state_dict(), other.state_dict(), rtol=1e-5, atol=1e-6)
        if wants_gradient:
            for result in results:
                result.sum().backward()
            torch.testing.assert_close(model.weight.grad, other.weight.grad, rtol=1e-4, atol=1e-5)
    assert kinds(compiled) == 1


@torch.no_grad()
def test_a_model_that_assigns_a_buffer_outlives_other_models():
    """Dynamo read PassNet's table of models by position, and the positions changed with the end of another model."""
    others = [passnet.compile(net()) for _ in range(2)]
    compiled, model = passnet.compile(Replaced()), Replaced()
    for number in range(16):
        if number == 10:
            others.clear()
            gc.collect()
        torch.testing.assert_close(compiled(torch.ones(5)), model(torch.ones(5)))
    torch.testing.assert_close(compiled.mean, model.mean)
    # Code of Dynamo that changes PassNet's objects has their places in it.
    assert not compiled._is_stale


class Replaced(torch.nn.Module):
    """Assigns a new buffer in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = self.mean * 0.5
        return torch.relu(x * 2) + self.mean
