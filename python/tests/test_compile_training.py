"""Gradients of compiled models: those of PyTorch, from compiled stages where these are right and fast."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch

import passnet
import passnet.backend
from compiling import image, net
from passnet._backend import stages
from passnet._backend.stopwatch import Comparison
from passnet._compile import training

passnet.backend.register()


class Block(torch.nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.norm, self.drop = torch.nn.LayerNorm(width), torch.nn.Dropout(0.25)
        self.wide, self.narrow = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.gelu(self.wide(self.norm(x)))
        return x + self.narrow(self.drop(y) * torch.sigmoid(y))


@pytest.fixture
def never_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions by correctness alone, so that tests do not depend on times."""
    for module in (stages, training):
        monkeypatch.setattr(module, "compare_times", lambda *_, **__: Comparison((2.0,), (1.0,)))
    monkeypatch.setattr("passnet._backend.regions.compare_times", lambda *_, **__: Comparison((2.0,), (1.0,)))


def block() -> tuple[Block, torch.Tensor]:
    torch.manual_seed(3)
    return Block(), torch.randn(16, 32)


def gradients(function, model: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Result, gradients of parameters and of the input, and buffers, with the same random numbers each time."""
    model.zero_grad()
    x = x.detach().clone().requires_grad_()
    torch.manual_seed(5)
    result = function(x)
    (result.square().sum() * 0.5).backward()
    found = [result.detach(), x.grad, *(parameter.grad for parameter in model.parameters())]
    return [value.clone() for value in (*found, *model.buffers())]


def check(compiled, model: torch.nn.Module, x: torch.Tensor) -> None:
    for _ in range(3):
        twin = copy.deepcopy(model)
        expected = gradients(twin, twin, x)
        torch.testing.assert_close(gradients(compiled, model, x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("never_slower")
def test_gradients_are_compiled():
    model, x = block()
    compiled = passnet.compile(model)
    check(compiled, model, x)
    known = compiled.report().specialisations[0]
    assert known.trains and known.left is None, known
    kept = {region.rule.split(":")[0] for region in known.regions if region.kept}
    assert kept == {"forward", "backward"}, compiled.report()
    assert compiled.report().eager == {}


@pytest.mark.usefixtures("never_slower")
def test_batch_norm_updates_its_statistics():
    model = net().train()
    compiled = passnet.compile(model)
    check(compiled, model, image())
    assert compiled.report().specialisations[0].left is None, compiled.report()
    assert model.norm.num_batches_tracked > 0


@pytest.mark.usefixtures("never_slower")
def test_training_gives_the_losses_of_pytorch():
    model, x = block()
    twin = copy.deepcopy(model)
    losses = []
    for function, owner in ((passnet.compile(model), model), (twin, twin)):
        optimizer = torch.optim.AdamW(owner.parameters(), lr=1e-2)
        torch.manual_seed(7)
        seen = []
        for _ in range(6):
            optimizer.zero_grad()
            loss = (function(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            seen.append(loss.detach())
        losses.append(torch.stack(seen))
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.usefixtures("never_slower")
def test_a_second_backward_adds_to_gradients():
    model, x = block()
    model.eval()
    compiled = passnet.compile(model)
    compiled(x)
    result = compiled(x).sum()
    result.backward(retain_graph=True)
    once = model.wide.weight.grad.clone()
    result.backward()
    torch.testing.assert_close(model.wide.weight.grad, 2 * once)


@pytest.mark.usefixtures("never_slower")
def test_parameters_that_are_frozen_or_released_later():
    model, x = block()
    model.eval()
    model.wide.weight.requires_grad_(False)
    compiled = passnet.compile(model)
    for wanted in (False, True, False):
        model.wide.weight.requires_grad_(wanted)
        for _ in range(2):
            model.zero_grad()
            compiled(x).sum().backward()
        assert (model.wide.weight.grad is not None) == wanted
        assert model.narrow.weight.grad is not None


def test_a_model_without_gradients_gets_them_later():
    model, x = block()
    model.eval().requires_grad_(False)
    compiled = passnet.compile(model)
    for _ in range(2):
        assert not compiled(x).requires_grad
    model.wide.weight.requires_grad_()
    for _ in range(2):
        assert compiled(x).requires_grad


@pytest.mark.usefixtures("never_slower")
def test_autocast_in_training():
    model, x = block()
    model.eval()
    compiled = passnet.compile(model)
    for _ in range(2):
        with torch.autocast("cpu", torch.bfloat16):
            found, expected = compiled(x), model(x)
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
        model.zero_grad()
        found.float().sum().backward()
        ours = model.wide.weight.grad.clone()
        model.zero_grad()
        expected.float().sum().backward()
        torch.testing.assert_close(ours, model.wide.weight.grad, rtol=5e-2, atol=5e-2)
    assert compiled.report().eager == {}


def test_wrong_gradients_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch):
    build = stages.Stages.differentiable

    def wrong(self, module, example):
        function = build(self, module, example)

        def scaled(*values):
            return [value * 1.01 for value in function(*values)]

        return scaled

    monkeypatch.setattr(stages.Stages, "differentiable", wrong)
    model, x = block()
    compiled = passnet.compile(model)
    with pytest.warns(RuntimeWarning, match="PyTorch computes the gradients of Block: a step gives another result"):
        compiled(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(compiled, model, x)
    assert not any(region.kept for region in compiled.report().specialisations[0].regions)


def test_a_slower_step_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training, "compare_times", lambda *_, **__: Comparison((1.0,), (2.0,)))
    model, x = block()
    compiled = passnet.compile(model)
    with pytest.warns(RuntimeWarning, match="slower"):
        compiled(x)
    check(compiled, model, x)


def test_training_can_be_turned_off():
    model, x = block()
    compiled = passnet.compile(model, training=False)
    with pytest.warns(RuntimeWarning, match="no_grad"):
        compiled(x).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(compiled, model, x)
    assert compiled.report().eager == {"a gradient is required": 4}


@pytest.mark.usefixtures("never_slower")
def test_torch_compile_has_compiled_gradients():
    model, x = block()
    compiled = torch.compile(model, backend="passnet")
    check(compiled, model, x)
    (graph,) = passnet.backend.report(model).graphs
    (found,) = graph.stages
    assert [stage.name for stage in found] == ["forward", "backward"]
    assert all(any(region.kept for region in stage.regions) for stage in found), passnet.backend.report(model)
    with torch.no_grad():
        torch.manual_seed(5)
        found = compiled(x)
        torch.manual_seed(5)
        torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("never_slower")
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm", "softmax", "activations", "indexing"])
def test_formulas_are_those_of_pytorch(name: str, monkeypatch: pytest.MonkeyPatch):
    """With all operators written out, as on a GPU, gradients are the same."""
    monkeypatch.setattr(stages, "POINTWISE", stages.ALL)
    f = torch.nn.functional

    def function(x: torch.Tensor) -> torch.Tensor:
        match name:
            case "layer_norm":
                return f.layer_norm(x, (6,)) * f.layer_norm(x, (4, 6)).tanh()
            case "group_norm":
                return f.silu(f.group_norm(x, 2))
            case "batch_norm":
                return f.relu6(f.batch_norm(x, None, None, training=True) * 3)
            case "softmax":
                return torch.softmax(x * 2, -1) @ x.transpose(1, 2)
            case "activations":
                return (
                    f.hardswish(x) + f.leaky_relu(x) * f.elu(x) - f.hardsigmoid(x) + f.softplus(x) + torch.relu(1 - x)
                )
        return torch.cat([x[:, 1:, ::2], x[:, :-1, 1::2].unsqueeze(0).expand(2, -1, -1, -1)[1] * 3], 1).mean(1).pow(3)

    torch.manual_seed(1)
    value = torch.randn(5, 4, 6)
    compiled = passnet.compile(function)
    for _ in range(2):
        x, y = value.clone().requires_grad_(), value.clone().requires_grad_()
        found, expected = compiled(x), function(y)
        found.square().sum().backward()
        expected.square().sum().backward()
        torch.testing.assert_close([found, x.grad], [expected, y.grad], rtol=1e-4, atol=1e-5)
    assert compiled.report().specialisations[0].left is None, compiled.report()


@pytest.mark.usefixtures("never_slower")
def test_options_of_inference_are_said_not_to_apply():
    model, x = block()
    compiled = passnet.compile(model, freeze=True, then="inductor", author=None)
    with pytest.warns(
        RuntimeWarning, match="`freeze=True`, `then='inductor'` do not apply to calls that require gradients"
    ):
        compiled(x)
    with warnings.catch_warnings(record=True) as later:
        warnings.simplefilter("always")
        compiled(x[:8])
    assert not any("do not apply" in str(warning.message) for warning in later)


@pytest.mark.parametrize("wrap", [passnet.compile, lambda step: torch.compile(step, backend="passnet")])
def test_a_step_that_is_compiled_with_its_backward_is_that_of_pytorch(wrap):
    torch._dynamo.reset()

    def trained(wrap) -> torch.nn.Module:
        model, x = block()
        model.eval()
        optimiser = torch.optim.SGD(model.parameters(), 0.1)

        def step(x: torch.Tensor) -> torch.Tensor:
            optimiser.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimiser.step()
            return loss.detach()

        function = wrap(step)
        for _ in range(3):
            function(x)
        return model

    expected = trained(lambda step: step)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = trained(wrap)
    torch.testing.assert_close(found.state_dict(), expected.state_dict(), rtol=1e-4, atol=1e-5)
    # Dynamo does not look into PassNet when it compiles the backward.
    assert not [warning for warning in said if "Dynamo" in str(warning.message)]


def test_gradients_that_no_used_result_depends_on_are_left_alone(never_slower: None):
    def grads(wrap) -> list[list[torch.Tensor | None]]:
        torch.manual_seed(0)
        first, second = Block(), Block()

        def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = first(x)
            return hidden, second(hidden.detach())

        call, x, found = wrap(function), torch.randn(4, 32), []
        for place in (0, 1):
            parameters = [*first.eval().parameters(), *second.eval().parameters()]
            for parameter in parameters:
                parameter.grad = None
            call(x)[place].sum().backward()
            found.append([parameter.grad for parameter in parameters])
        return found

    torch.testing.assert_close(grads(passnet.compile), grads(lambda function: function), rtol=1e-4, atol=1e-5)
