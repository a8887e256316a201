"""Transforms, modes and tools of PyTorch around a compiled call or within it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vjp, vmap

from programs import Compile, outcome

_X = torch.linspace(-1, 1, 12).reshape(4, 3)


def _model(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def ensembles(compiled: Compile) -> Iterator[Any]:
    models = [_model(seed) for seed in range(3)]
    base = models[0]
    call = compiled(base)
    parameters, buffers = stack_module_state(models)
    yield call(_X)
    yield vmap(lambda p, b: functional_call(base, (p, b), (_X,)))(parameters, buffers)
    for model in models[1:]:
        yield functional_call(call, dict(model.named_parameters()), (_X,))
    yield call(_X)


def gradients_per_sample(compiled: Compile) -> Iterator[Any]:
    model = _model()
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(values: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return functional_call(model, values, (x,)).square().sum()

    call = compiled(lambda values, x: vmap(grad(loss), (None, 0))(values, x))
    for _ in range(2):
        yield call(parameters, _X)
        parameters = {name: value * 0.5 for name, value in parameters.items()}


def jacobians(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    yield call(_X)
    yield jacrev(call)(_X[0]), hessian(lambda x: call(x).square().sum())(_X[0])
    yield jvp(call, (_X,), (torch.ones_like(_X),))
    result, pull = vjp(call, _X)
    yield result, pull(torch.ones_like(result))
    inner = compiled(lambda x: jacrev(model)(x))
    yield inner(_X[0]), inner(_X[1])


def batched_calls(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: torch.softmax(x @ y, -1) * 2)
    weights = torch.linspace(-1, 1, 18).reshape(2, 3, 3)
    yield call(_X, weights[0])
    yield vmap(call, (None, 0))(_X, weights)
    yield vmap(vmap(call, (None, 0)), (0, None))(_X[:, None], weights)
    yield vmap(lambda x: torch.nn.functional.dropout(call(x, weights[0]), 0.5), randomness="different")(_X[:, None])


def gradients_within_the_call(compiled: Compile) -> Iterator[Any]:
    model = _model()

    def adapted(x: torch.Tensor, rate: float) -> torch.Tensor:
        weight = model[0].weight
        with torch.enable_grad():
            loss = (x @ weight.t()).square().sum()
            (step,) = torch.autograd.grad(loss, weight, create_graph=True)
        return torch.tanh(x @ (weight - rate * step).t())

    call = compiled(adapted)
    for rate in (0.1, 0.2):
        model.zero_grad()
        result = call(_X, rate)
        result.sum().backward()
        yield result, model[0].weight.grad


def whole_step_of_training(compiled: Compile) -> Iterator[Any]:
    model = _model()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimiser.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimiser.step()
        return loss.detach()

    call = compiled(step)
    for _ in range(3):
        yield call(_X), [parameter.detach().clone() for parameter in model.parameters()]
    yield [parameter.grad for parameter in model.parameters()]


def weights_changed_before_backward(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    for change in (False, True, False):
        model.zero_grad()
        x = _X.clone().requires_grad_()
        result = call(x)
        if change:
            with torch.no_grad():
                model[2].weight.mul_(3)
        yield outcome(lambda result=result: result.sum().backward())
        yield x.grad


def inputs_changed_before_backward(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    for change in (False, True, False):
        model.zero_grad()
        x = _X.clone()
        result = call(x)
        if change:
            x.zero_()
        yield outcome(lambda result=result: result.sum().backward())
        yield model[0].weight.grad


def results_changed_before_backward(compiled: Compile) -> Iterator[Any]:
    for function in (lambda x: torch.sigmoid(x), lambda x: x * 3 + 1):
        call = compiled(function)
        for _ in range(2):
            x = _X.clone().requires_grad_()
            result = call(x)
            yield outcome(lambda result=result: result.mul_(2))
            yield outcome(lambda result=result: result.sum().backward())
            yield x.grad


def results_changed_between_calls(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(lambda x: (torch.relu(model(x)), x.t(), model[0].weight * 1))
    with torch.no_grad():
        for _ in range(3):
            first = call(_X.clone())
            yield [part.clone() for part in first]
            for part in first:
                part.fill_(7)
            second = call(_X.clone())
            yield first, second


def interleaved_backwards(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    for _ in range(2):
        model.zero_grad()
        first, second = call(_X), call(_X * 2)
        third = call(first.detach().mean(0, keepdim=True).repeat(1, 2)[:, :3])
        second.square().sum().backward()
        (first.sum() + third.sum()).backward()
        yield [parameter.grad.clone() for parameter in model.parameters()]


def calls_of_calls(compiled: Compile) -> Iterator[Any]:
    first, second = _model(1), nn.Sequential(nn.Linear(2, 3), nn.GELU())
    nn.init.constant_(second[0].weight, 0.2)
    nn.init.constant_(second[0].bias, 0.1)
    inner, outer = compiled(first), compiled(second)
    whole = nn.Sequential(inner, outer)
    for step in range(2):
        x = (_X + step).requires_grad_()
        whole(whole(x)).square().sum().backward()
        yield x.grad, first[0].weight.grad.clone()
    both = compiled(whole)
    yield both(_X), both(_X)


def anomaly_detection(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.sqrt(x) * 2)
    for value in (1.0, 0.0, 4.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.autograd.detect_anomaly():
                x = torch.full((2,), value, requires_grad=True)
                result = call(x * 0 + value if value else x * 0)
                yield result, outcome(lambda result=result: result.sum().backward())
                yield x.grad


def saved_tensors_packed(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    for _ in range(2):
        model.zero_grad()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            result = call(_X)
        result.square().sum().backward()
        yield result, [parameter.grad.clone() for parameter in model.parameters()]


def profilers_and_records(compiled: Compile) -> Iterator[Any]:
    model = _model()

    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.profiler.record_function("part"):
            return torch.relu(model(x)) * 2

    call = compiled(function)
    for _ in range(2):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            yield call(_X)
        yield bool(profile.key_averages())
    yield call(_X)


def deterministic_and_threads(compiled: Compile) -> Iterator[Any]:
    threads = torch.get_num_threads()

    def function(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return torch.zeros(5).index_add(0, places, x).cumsum(0) * 2

    call = compiled(function)
    x, places = torch.linspace(-1, 1, 6), torch.tensor([0, 0, 1, 4, 4, 2])
    try:
        yield call(x, places)
        torch.use_deterministic_algorithms(True)
        yield call(x, places), torch.are_deterministic_algorithms_enabled()
        torch.set_num_threads(1)
        yield call(x, places)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(threads)
    yield call(x, places), torch.get_num_threads()


def warnings_of_the_model(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 2:
            warnings.warn("long input", UserWarning, stacklevel=1)
        return torch.relu(x) * 2

    call = compiled(function)
    for length in (4, 4, 2, 4):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield call(_X[:length])
        yield [str(warning.message) for warning in seen if "long input" in str(warning.message)]


def gradient_with_respect_to_results(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> Any:
        hidden = torch.tanh(x) * 2
        return hidden, (hidden * hidden).sum(), hidden.argmax(-1), hidden.detach()

    call = compiled(function)
    for _ in range(2):
        x = _X.clone().requires_grad_()
        hidden, loss, places, constant = call(x)
        yield outcome(lambda loss=loss, hidden=hidden: torch.autograd.grad(loss, hidden, retain_graph=True))
        yield torch.autograd.grad([hidden.sum(), loss], x), places, constant
        yield (
            [part.requires_grad for part in (hidden, loss, places, constant)],
            [part.is_leaf for part in (hidden, loss)],
        )


def gradients_that_some_results_do_not_get(compiled: Compile) -> Iterator[Any]:
    model = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.3)

    def function(x: torch.Tensor) -> Any:
        first = torch.relu(model[0](x))
        return first, torch.tanh(model[1](first.detach()))

    call = compiled(function)
    for place in (0, 1, 0):
        model.zero_grad()
        call(_X)[place].sum().backward()
        yield [parameter.grad for parameter in model.parameters()]


def gradient_modes_within(compiled: Compile) -> Iterator[Any]:
    model = _model()

    def function(x: torch.Tensor, frozen: bool) -> torch.Tensor:
        with torch.no_grad() if frozen else contextlib.nullcontext():
            hidden = model[0](x)
        return model[2](torch.relu(hidden).requires_grad_() if frozen else torch.relu(hidden))

    call = compiled(function)
    for frozen in (True, False, True):
        model.zero_grad()
        call(_X, frozen).sum().backward()
        yield [parameter.grad for parameter in model.parameters()]
