"""Whole steps of training: writes and shared memory are those of eager mode, also where AOTAutograd loses them."""

from __future__ import annotations

import copy
import functools

import pytest
import torch

import passnet
import passnet.backend
from passnet._backend import stages, step

passnet.backend.register()


class Doubling(torch.nn.Module):
    """Changes the result of a dropout in place. In evaluation this is the argument itself."""

    def __init__(self) -> None:
        super().__init__()
        self.drop, self.weight = torch.nn.Dropout(0.5), torch.nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        self.drop(z).mul_(2)
        return (x * self.weight + z).relu() * 3


@pytest.mark.filterwarnings("ignore:.*a step gives another result")
@pytest.mark.parametrize("loses", [False, True])
def test_the_backend_loses_no_write_that_aotautograd_loses(loses: bool, monkeypatch: pytest.MonkeyPatch):
    """PyTorch 2.11 loses this write. With other versions, `loses` makes AOTAutograd lose it."""
    build = stages.Stages.differentiable

    def losing(self, module, example):
        function = build(self, module, example)
        return lambda *values: function(*(value if value.requires_grad else value.clone() for value in values))

    if loses:
        monkeypatch.setattr(stages.Stages, "differentiable", losing)
    torch._dynamo.reset()
    model = Doubling().eval()
    compiled = torch.compile(model, backend="passnet")
    for _ in range(2):
        x, z = torch.randn(2, 4, 8)
        own = z.clone()
        torch.testing.assert_close(compiled(x, own), model(x, z))
        assert torch.equal(own, z)
    (graph,) = passnet.backend.report(model).graphs
    if loses:
        assert "a step gives another result: values differ" in graph.not_authored
        assert not any(region.kept for stage in graph.stages[0] for region in stage.regions)


@pytest.mark.parametrize("compiler", [passnet.compile, lambda model: torch.compile(model, backend="passnet")])
def test_a_slice_that_requires_a_gradient_is_written_to(compiler):
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.mul_(2)
            return (x.sigmoid() + 1) * 3

    torch._dynamo.reset()
    model = Scaled()
    compiled = compiler(model)
    for _ in range(3):
        leaf = torch.randn(4, 8, requires_grad=True)
        found, expected = (leaf * 1 for _ in range(2))
        results = [call(value[:, ::2]) for call, value in ((compiled, found), (model, expected))]
        torch.testing.assert_close(*results)
        torch.testing.assert_close(found, expected)
        gradients = [torch.autograd.grad(result.sum(), leaf) for result in results]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("share", [0.5, 0.0])
def test_the_result_of_an_idle_dropout_is_its_argument(share: float, verify: bool):
    model = Doubling()
    model.drop.p = share
    compiled = passnet.compile(model.train(share == 0), verify=verify)
    for _ in range(2):
        x, z = torch.randn(2, 4, 8)
        own = z.clone()
        torch.testing.assert_close(compiled(x, own), model(x, z))
        assert torch.equal(own, z)


class Row(torch.nn.Module):
    """Returns a value without a gradient, and a row of it, in a graph with an argument that requires a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scaled = x * self.weight.detach()
        return scaled[0], scaled


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("by_backend", [False, True])
def test_results_share_memory_as_in_eager_mode(by_backend: bool, verify: bool):
    torch._dynamo.reset()
    model, x = Row(), torch.randn(4, 8)
    if by_backend:
        compiled = torch.compile(model, backend="passnet", options={"verify": verify})
    else:
        compiled = passnet.compile(model, verify=verify)
    for _ in range(2):
        row, whole = compiled(x)
        row.zero_()
        assert not whole[0].any()


def test_the_comparison_of_a_step_changes_no_statistics():
    """Batch normalisation writes to its running statistics without a trace."""
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 8))
    twin = copy.deepcopy(model)
    compiled = torch.compile(model, backend="passnet")
    for _ in range(2):
        x = torch.randn(4, 8)
        compiled(x).sum().backward()
        twin(x).sum().backward()
    for name, value in twin.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value)


class Checkpointed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = torch.nn.Linear(8, 8), torch.nn.Dropout(0.4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.utils.checkpoint.checkpoint(lambda x: self.drop(self.linear(x)) * x, x, use_reentrant=False)


def test_a_step_with_a_checkpoint_is_not_compared(monkeypatch: pytest.MonkeyPatch):
    """The captured graph is no reference: its checkpoint draws other random numbers when it is computed again."""
    monkeypatch.setattr(step.Step, "fault", lambda *_: pytest.fail("compared"))
    torch._dynamo.reset()
    model, x = Checkpointed(), torch.randn(4, 8)
    compiled = torch.compile(model, backend="passnet")
    for seed in range(3):
        gradients = []
        for call in (model, compiled):
            model.zero_grad()
            torch.manual_seed(seed)
            call(x).square().sum().backward()
            gradients.append(model.linear.weight.grad.clone())
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("how", ["compile", "unverified", "backend"])
@pytest.mark.parametrize(
    "view",
    [lambda z: z.unbind(0)[1], lambda z: z.chunk(2)[1][0], lambda z: z.split([1, 3])[1].view(-1)],
    ids=["unbind", "chunk", "split"],
)
def test_a_result_that_is_one_of_several_views_of_a_written_argument(view, how: str):
    """AOTAutograd returns a copy."""

    def function(x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        z.index_add_(0, torch.tensor([0, 1, 0]), x.sigmoid() * 2)
        return view(z)

    torch._dynamo.reset()
    compilers = {"compile": passnet.compile, "unverified": functools.partial(passnet.compile, verify=False)}
    compiled = compilers.get(how, functools.partial(torch.compile, backend="passnet"))(function)
    for _ in range(3):
        x, z = torch.randn(3, 8, requires_grad=True), torch.randn(4, 8)
        own = z.clone()
        found, expected = compiled(x, own), function(x, z)
        torch.testing.assert_close(found, expected)
        assert found.untyped_storage()._cdata == own.untyped_storage()._cdata
        torch.testing.assert_close(*(torch.autograd.grad(result.sum(), x) for result in (found, expected)))
