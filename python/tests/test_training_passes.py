"""Training through `torch.compile(backend="passnet")`: with the demo's passes and the built-in author's, gradients are eager's."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from agent_command import passnet as passnet_command
from passnet import backend
from test_demo_passes import TASKS, graphs, make_inputs
from test_fallback import DEMO, FUSED_TASKS, compiled, tensors


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Compiled code and what backends know are forgotten."""
    torch._dynamo.reset()
    backend._backends.clear()
    yield
    torch._dynamo.reset()


def trained(
    call: Callable[..., Any], inputs: list[torch.Tensor], least_dim: int
) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
    """The results of a call, and the gradients of its floating-point inputs."""
    torch.manual_seed(0)
    leaves = [value.clone().requires_grad_(value.is_floating_point() and value.dim() >= least_dim) for value in inputs]
    # Graphs may write to their inputs, which leaves do not allow.
    results = tensors(call(*(leaf.clone() for leaf in leaves)))
    wanted = [result for result in results if result.requires_grad]
    torch.autograd.backward(wanted, [torch.ones_like(result) for result in wanted])
    return [result.detach() for result in results], [leaf.grad for leaf in leaves]


def assert_trains_like_eager(task: str, passes: Path) -> None:
    folder, model = next(graphs(task))
    inputs = make_inputs(folder)
    # The stored statistics of a batch normalisation, which are vectors, have no gradient.
    least_dim = 2 if "batch_norm" in model.code else 0
    fast = compiled(copy.deepcopy(model), passes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with torch.no_grad():
            fast(*(value.clone() for value in inputs))
        # The compiled code of inference must not serve training: the order matters.
        expected, found = trained(model, inputs, least_dim), trained(fast, inputs, least_dim)
    assert sum(next(iter(backend._backends.values())).matches.values()), "no pass is in the graph"
    for theirs, ours in zip(expected[0], found[0], strict=True):
        assert torch.equal(ours, theirs)
    assert any(gradient is not None for gradient in expected[1]) or not any(map(torch.is_floating_point, inputs))
    for number, (theirs, ours) in enumerate(zip(expected[1], found[1], strict=True)):
        assert (ours is None) == (theirs is None), f"gradient of input {number}"
        assert theirs is None or torch.equal(ours, theirs), f"gradient of input {number}"


@pytest.mark.parametrize("task", TASKS)
def test_with_the_demos_passes(task: str):
    assert_trains_like_eager(task, DEMO / "passes" / task)


@pytest.mark.parametrize("task", FUSED_TASKS)
def test_with_the_built_in_authors_passes(task: str, tmp_path: Path):
    passnet_command("fuse", DEMO / task, "--out", tmp_path / "passes")
    [passes] = {path.parent for path in tmp_path.rglob("sorted_output_pass_rule_names.json")}
    assert_trains_like_eager(task, passes)
