"""`passnet.compile(freeze=True)`: a weight that changes in place is noticed, and the model is compiled again."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import nn

import passnet
from compiling import Net, image, kinds, net
from passnet import _native

X = torch.randn(2, 3, 8, 8)


def _in_place(model: Net) -> None:
    model.conv.weight.mul_(2)


def _step(model: Net) -> None:
    with torch.enable_grad():
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        model(X).sum().backward()
        optimizer.step()


def _load(model: Net) -> None:
    model.load_state_dict({name: value * 2 for name, value in model.state_dict().items()})


def _other_memory(model: Net) -> None:
    model.conv.weight.data = model.conv.weight.data * 2


def _buffer(model: Net) -> None:
    model.norm.running_mean.add_(1)


def _statistics(model: Net) -> None:
    model.train()(X + 7)
    model.eval()


@pytest.mark.parametrize("change", [_in_place, _step, _load, _other_memory, _buffer, _statistics])
@torch.no_grad()
def test_a_change_of_a_frozen_weight_is_noticed(change: Callable[[Net], None]):
    model = net()
    compiled = passnet.compile(model, freeze=True)
    for size in (8, 6):
        compiled(image(size=size))
    assert (
        kinds(compiled) == 2 and "1 batch norms are folded into weights" in compiled.report().specialisations[0].notes
    )
    change(model)
    for _ in range(3):
        torch.testing.assert_close(compiled(X), model(X), rtol=1e-4, atol=1e-5)
    # All kinds of calls are compiled again, as after `refresh`.
    assert kinds(compiled) == 1
    assert "1 batch norms are folded into weights" in compiled.report().specialisations[0].notes
    y = image(size=6)
    torch.testing.assert_close(compiled(y), model(y), rtol=1e-4, atol=1e-5)
    assert not compiled.report().eager


@torch.no_grad()
def test_statistics_that_a_compiled_call_changes_are_noticed():
    model = net()
    compiled = passnet.compile(model, freeze=True)
    for mode in (False, True, True, False, False):
        compiled.train(mode)
        # Dropout draws random numbers in training mode.
        found = compiled(X)
        if not mode:
            torch.testing.assert_close(found, model(X), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_weight_without_constants_may_change():
    """The last layer is not folded: the graph reads its weights in each call."""
    model = net()
    compiled = passnet.compile(model, freeze=True)
    compiled(X)
    before = compiled.report().specialisations
    model.head.weight.mul_(2)
    torch.testing.assert_close(compiled(X), model(X), rtol=1e-4, atol=1e-5)
    assert compiled.report().specialisations[0] is before[0]


@torch.no_grad()
def test_a_model_whose_weights_change_repeatedly_is_no_longer_frozen():
    model = net()
    compiled = passnet.compile(model, freeze=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            compiled(X)
            model.conv.weight.add_(0.1)
    with pytest.warns(RuntimeWarning, match="Net is no longer frozen, because its weights changed 4 times"):
        compiled(X)
    [known] = compiled.report().specialisations
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            model.conv.weight.add_(0.1)
            torch.testing.assert_close(compiled(X), model(X), rtol=1e-4, atol=1e-5)
        assert compiled.report().specialisations[0] is known
        compiled.refresh()
        compiled(X)
    assert "1 batch norms are folded into weights" in compiled.report().specialisations[0].notes


@torch.no_grad()
def test_casts_of_autocast_are_no_changes():
    model = net()
    compiled = passnet.compile(model, freeze=True)
    known = []
    for step in range(4):
        with torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(compiled(X), model(X), rtol=2e-2, atol=2e-2)
        known.append(compiled.report().specialisations[0])
        if step == 2:
            assert known[0] is known[2]
            model.conv.weight.mul_(3)
    assert known[3] is not known[2]


def _noticed(check: Callable[[], bool], change: Callable[[], object]) -> bool:
    """The check holds before a change, and not after it."""
    assert check()
    with torch.no_grad():
        change()
    return not check()


def test_writes_are_noticed_by_version_counters():
    tensors = torch.ones(2, 3), nn.Parameter(torch.ones(())), torch.ones(4)[1:]
    with torch.inference_mode():
        counted = torch.ones(3)
    tensors = (*tensors, counted)

    def versions() -> Callable[[], bool]:
        return _native.TensorVersions(tensors).hold

    held = versions()
    # Reads, and a write to another tensor.
    assert float(tensors[0].detach().view(-1).sum()) == 6.0 and torch.ones(2, 3).mul_(2) is not None and held()
    for tensor in tensors[:3]:
        assert _noticed(versions(), lambda tensor=tensor: tensor.mul_(2))
        assert _noticed(versions(), lambda tensor=tensor: tensor.detach().zero_())
    assert _noticed(versions(), lambda: setattr(tensors[1], "data", torch.ones(())))
    assert _noticed(versions(), lambda: tensors[0].set_(torch.ones(2, 3)))
    assert _noticed(versions(), lambda: torch.utils.swap_tensors(tensors[2], torch.zeros(3)))
    # Writes that PyTorch does not count.
    assert not _noticed(versions(), lambda: tensors[0].data.zero_())


PROGRAM = """
import sys
import torch
from passnet import _native

natively = sys.argv[1] == "natively"
if not natively:
    # The search for the places in memory fails, and PyTorch is asked in each call.
    mode, torch.inference_mode = torch.inference_mode, None
with torch.no_grad():
    weight = torch.nn.Parameter(torch.ones(2, 3))
    with torch._C._InferenceMode(True):
        versions = [_native.TensorVersions((weight, torch.ones(2))) for _ in range(3)]
    if natively:
        torch.Tensor.is_set_to = None
    assert versions[0].hold()
    weight.mul_(2)
    assert not versions[0].hold() and _native.TensorVersions((weight,)).hold()
    versions = _native.TensorVersions((weight,))
    weight.data = torch.ones(2, 3)
    assert not versions.hold()
"""


@pytest.mark.parametrize("how", ["natively", "by PyTorch"])
@pytest.mark.parametrize("content", [0, 165])
def test_version_counters_are_found_with_any_content_of_fresh_memory(how: str, content: int):
    """glibc fills the memory that it gives out with the complement of `content`."""
    environment = os.environ | {"MALLOC_PERTURB_": str(content), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", PROGRAM, how], env=environment, check=True)
