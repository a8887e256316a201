"""Gradients, hooks, optimisers and what a backward pass leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import checkpoint

from programs import Compile, outcome


def _model() -> torch.nn.Sequential:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    for place, parameter in enumerate(model.parameters()):
        torch.nn.init.constant_(parameter, 0.1 * (place + 1))
    return model


_X = torch.linspace(-1, 1, 6).reshape(2, 3)


def steps_of_an_optimiser(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimiser.zero_grad()
        loss = call(_X).square().mean()
        loss.backward()
        optimiser.step()
        yield loss, [parameter.clone() for parameter in model.parameters()]


def gradients_that_add_up(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    for step in range(3):
        call(_X * step).sum().backward()
        yield [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad(set_to_none=False)
    call(_X).sum().backward()
    yield [parameter.grad for parameter in model.parameters()]


def some_parameters_are_frozen(compiled: Compile) -> Iterator[Any]:
    model = _model()
    call = compiled(model)
    for wanted in (True, False, True):
        model[0].requires_grad_(wanted)
        model.zero_grad()
        result = call(_X)
        result.sum().backward()
        yield result, [parameter.grad for parameter in model.parameters()]
    model.requires_grad_(False)
    yield call(_X)


def gradients_of_inputs(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x, y: (torch.tanh(x) * y.detach(), y * 2))
    for _ in range(2):
        x, y = torch.ones(3, requires_grad=True), torch.arange(3.0, requires_grad=True)
        first, second = call(x, y)
        yield torch.autograd.grad(first.sum(), (x, y), retain_graph=True, allow_unused=True)
        yield torch.autograd.grad(second.sum() + first.sum(), (x, y))


def second_derivatives(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.sin(x) * x)
    for _ in range(2):
        x = torch.linspace(-1, 1, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
        yield slope
        yield outcome(lambda slope=slope, x=x: torch.autograd.grad(slope.square().sum(), x))


def backward_twice(compiled: Compile) -> Iterator[Any]:
    call = compiled(lambda x: torch.sigmoid(x) * 2)
    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        result = call(x)
        result.sum().backward(retain_graph=True)
        result.sum().backward()
        yield x.grad
        yield outcome(lambda result=result: result.sum().backward())


def own_gradient(compiled: Compile) -> Iterator[Any]:
    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, limit: float) -> torch.Tensor:
            ctx.save_for_backward(x)
            ctx.limit = limit
            return x.clamp(-limit, limit)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
            (x,) = ctx.saved_tensors
            return gradient * 3 + (x.abs() > ctx.limit), None

    call = compiled(lambda x: Clipped.apply(torch.tanh(x) * 2, 1.0) + 1)
    for _ in range(2):
        x = torch.linspace(-2, 2, 5, requires_grad=True)
        result = call(x)
        result.sum().backward()
        yield result, x.grad


def recomputed_parts(compiled: Compile) -> Iterator[Any]:
    model = _model()

    def function(x: torch.Tensor) -> torch.Tensor:
        return checkpoint.checkpoint(model, x, use_reentrant=False) * 2

    call = compiled(function)
    for _ in range(2):
        model.zero_grad()
        call(_X).sum().backward()
        yield [parameter.grad for parameter in model.parameters()]


def hooks_of_modules(compiled: Compile) -> Iterator[Any]:
    model = _model()
    seen: list[tuple[int, ...]] = []
    call = compiled(model)
    yield call(_X)
    before = model[0].register_forward_pre_hook(lambda _, args: (args[0] * 2,))
    yield call(_X)
    after = model[1].register_forward_hook(lambda _, args, result: seen.append(tuple(result.shape)) or result + 1)
    yield call(_X)
    before.remove()
    yield call(_X)
    after.remove()
    yield call(_X)
    yield seen


def hooks_of_modules_with_arguments(compiled: Compile) -> Iterator[Any]:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, *, scale: float = 1.0) -> torch.Tensor:
            return torch.relu(x) * scale

    model = Model()

    def doubled(module: torch.nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return args, {"scale": kwargs.get("scale", 1.0) * 2}

    model.register_forward_pre_hook(doubled, with_kwargs=True)
    call = compiled(model)
    for scale in (1.0, 3.0, 1.0):
        yield call(_X, scale=scale)
    yield call(_X)


def hooks_of_backward(compiled: Compile) -> Iterator[Any]:
    model = _model()
    seen: list[torch.Tensor] = []
    handle = model[2].register_full_backward_hook(lambda _, inputs, outputs: seen.append(outputs[0].clone()))
    model[0].weight.register_hook(lambda gradient: gradient * 10)
    call = compiled(model)
    for _ in range(2):
        model.zero_grad()
        call(_X).sum().backward()
        yield model[0].weight.grad, list(seen)
    handle.remove()
    call(_X).sum().backward()
    yield len(seen)


def hooks_of_all_modules(compiled: Compile) -> Iterator[Any]:
    names: list[str] = []
    model = _model()
    call = compiled(model)
    yield call(_X)

    def note(module: torch.nn.Module, _args: Any, _result: Any) -> None:
        # A backend may run modules of its own.
        if isinstance(module, (torch.nn.Linear, torch.nn.ReLU)):
            names.append(type(module).__name__)

    handle = torch.nn.modules.module.register_module_forward_hook(note)
    try:
        yield call(_X)
    finally:
        handle.remove()
    yield call(_X)
    yield names


def hooks_within_the_call(compiled: Compile) -> Iterator[Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x)
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient * 5)
        return y * 2

    call = compiled(function)
    for _ in range(2):
        x = torch.ones(3, requires_grad=True)
        call(x).sum().backward()
        yield x.grad


def accumulated_hooks(compiled: Compile) -> Iterator[Any]:
    model = _model()
    log: list[float] = []
    weight = model[0].weight
    weight.register_post_accumulate_grad_hook(lambda parameter: log.append(round(parameter.grad.sum().item(), 4)))
    call = compiled(model)
    for _ in range(2):
        call(_X).sum().backward()
    yield log
