"""`passnet.compile`: a compiled module is a module for other modules, optimisers and checkpoints."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch

import passnet
from compiling import Net, check, image, net


class Outer(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner, self.last = inner, torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.inner(x))


def pair() -> tuple[Outer, Outer]:
    """A module with a plain part, and the same with the part compiled."""
    plain = Outer(net())
    ours = copy.deepcopy(plain)
    ours.inner = passnet.compile(ours.inner)
    return plain, ours


def test_a_compiled_module_is_of_the_class_of_its_model():
    compiled = passnet.compile(net())
    assert (
        isinstance(compiled, torch.nn.Module) and isinstance(compiled, Net) and isinstance(compiled, passnet.Compiled)
    )
    assert type(compiled) is passnet.Compiled and "Conv2d" in repr(compiled) and "norm" in dir(compiled)
    assert not isinstance(passnet.compile(torch.relu), torch.nn.Module)


def test_other_modules_see_the_parameters_under_their_own_names():
    plain, ours = pair()
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in plain.named_parameters()]
    assert [name for name, _ in ours.named_buffers()] == [name for name, _ in plain.named_buffers()]
    assert list(ours.state_dict()) == list(plain.state_dict())
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in plain.named_modules()]
    assert list(dict(ours.named_children())) == ["inner", "last"]
    assert len(list(torch.nn.Sequential(ours.inner, ours.last).parameters())) == len(list(plain.parameters()))


def test_an_optimiser_of_the_outer_module_trains_the_compiled_part():
    plain, ours = pair()
    sides = [(module, torch.optim.SGD(module.parameters(), lr=0.1)) for module in (plain, ours)]
    for _ in range(3):
        x = image()
        for module, optimiser in sides:
            optimiser.zero_grad()
            module(x).square().mean().backward()
            optimiser.step()
    for one, other in zip(plain.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    ours.zero_grad(set_to_none=True)
    assert all(parameter.grad is None for parameter in ours.inner.model.parameters())


@torch.no_grad()
def test_modes_types_and_values_set_from_outside_reach_the_model():
    plain, ours = pair()
    x = image()
    torch.testing.assert_close(ours(x), plain(x), rtol=1e-4, atol=1e-5)
    ours.train()
    assert ours.inner.training and ours.inner.model.drop.training
    ours.eval()
    assert not ours.inner.model.norm.training
    state = {
        name: torch.randn_like(value) if value.is_floating_point() else value
        for name, value in plain.state_dict().items()
    }
    state["inner.norm.running_var"].abs_()
    for module in (plain, ours):
        module.load_state_dict(state)
    torch.testing.assert_close(ours(x), plain(x), rtol=1e-4, atol=1e-5)
    for module in (plain, ours):
        module.double()
    torch.testing.assert_close(ours(x.double()), plain(x.double()))
    del ours.inner.drop
    assert not hasattr(ours.inner.model, "drop")


@torch.no_grad()
def test_copies_of_the_outer_module_have_a_part_of_their_own():
    _, ours = pair()
    buffer = io.BytesIO()
    torch.save(ours, buffer)
    buffer.seek(0)
    copies = [copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), torch.load(buffer, weights_only=False)]
    x = image()
    for other in copies:
        assert type(other.inner) is passnet.Compiled and other.inner.model is not ours.inner.model
        torch.testing.assert_close(other(x), ours(x), rtol=1e-4, atol=1e-5)
        other.inner.model.head.bias.add_(1)
        assert not torch.allclose(other(x), ours(x))


@torch.no_grad()
def test_hooks_of_the_compiled_part_run():
    _, ours = pair()
    x = image()
    before = ours(x)
    handle = ours.inner.register_forward_hook(lambda module, args, result: result + 1)
    torch.testing.assert_close(ours.inner(x), ours.inner.model(x), rtol=1e-4, atol=1e-5)
    assert not torch.allclose(ours(x), before)
    handle.remove()
    torch.testing.assert_close(ours(x), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiler", ["passnet", "torch"])
@torch.no_grad()
def test_the_outer_module_can_be_compiled_too(compiler: str):
    plain, ours = pair()
    whole = passnet.compile(ours) if compiler == "passnet" else torch.compile(ours, backend="eager", fullgraph=True)
    x = image()
    for _ in range(3):
        torch.testing.assert_close(whole(x), plain(x), rtol=1e-4, atol=1e-5)
    for module in (plain, ours):
        module.inner.head.bias.add_(1)
    torch.testing.assert_close(whole(x), plain(x), rtol=1e-4, atol=1e-5)
    torch._dynamo.reset()


@torch.no_grad()
def test_a_compiled_module_can_be_compiled_again():
    compiled = passnet.compile(net())
    again = passnet.compile(compiled, limit=1)
    assert again.model is compiled.model and again.options.limit == 1
    check(again, image())
