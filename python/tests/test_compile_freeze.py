"""`passnet.compile(freeze=True)`: batch norm becomes part of weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import passnet


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PASSNET_CACHE", str(tmp_path))


def spread(model: nn.Module) -> nn.Module:
    """A model in evaluation mode whose norms have statistics and scales of their own."""
    torch.manual_seed(0)
    with torch.no_grad():
        for norm in model.modules():
            if isinstance(norm, nn.modules.batchnorm._BatchNorm):
                if norm.track_running_stats:
                    norm.running_mean.normal_()
                    norm.running_var.uniform_(0.5, 2)
                if norm.affine:
                    norm.weight.normal_()
                    norm.bias.normal_()
    return model.eval()


class Branches(nn.Module):
    """A convolution whose result is used twice, so that nothing can be folded into it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.norm(y) + y


IMAGE = (2, 3, 9, 9)
MODELS = {
    "plain": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()), IMAGE, 1),
    "bias": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4, eps=0.1)), IMAGE, 1),
    "groups": (lambda: nn.Sequential(nn.Conv2d(3, 6, 3, groups=3), nn.BatchNorm2d(6)), IMAGE, 1),
    "not affine": (lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, affine=False)), IMAGE, 1),
    "one dimension": (lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4)), (2, 3, 9), 1),
    "linear": (lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)), (7, 5), 1),
    "linear over a sequence": (lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(6)), (2, 6, 5), 0),
    "no statistics": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)),
        IMAGE,
        0,
    ),
    "two": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)),
        IMAGE,
        2,
    ),
    "other user": (Branches, IMAGE, 0),
}


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_folded_models_compute_the_same(name: str):
    build, size, folds = MODELS[name]
    model = spread(build())
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    (known,) = compiled.report().specialisations
    note = "there is no batch norm to fold" if not folds else f"{folds} batch norms are folded into weights"
    assert note in known.notes, known.notes


@torch.no_grad()
def test_training_is_not_folded():
    model = spread(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))).train()
    compiled = passnet.compile(model, freeze=True)
    for _ in range(3):
        x = torch.randn(IMAGE)
        before = {name: value.clone() for name, value in model.named_buffers()}
        found = compiled(x)
        model.load_state_dict(before, strict=False)
        torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_folded_weights_are_constants_until_refresh():
    model = spread(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    compiled = passnet.compile(model, freeze=True)
    x = torch.randn(IMAGE)
    before = model(x)
    compiled(x)
    model[0].weight.mul_(2)
    torch.testing.assert_close(compiled(x), before, rtol=1e-4, atol=1e-4)
    compiled.refresh()
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    # What is assigned is noticed without it.
    model[1] = spread(nn.BatchNorm2d(4))
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    compiled(x)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
