"""A dozen small whole models that need no download, in the manner of well-known ones. `MODELS` has a builder for each name."""

from __future__ import annotations

from collections.abc import Callable

import torch

from models.text import bert, gpt, t5_encoder
from models.vision import convnext, densenet, efficientnet, mixer, mobilenet, regnet, resnet, unet, vit

Built = tuple[torch.nn.Module, tuple[torch.Tensor, ...]]

MODELS: dict[str, Callable[[], Built]] = {
    "resnet": resnet,
    "regnet": regnet,
    "mobilenet": mobilenet,
    "efficientnet": efficientnet,
    "densenet": densenet,
    "unet": unet,
    "convnext": convnext,
    "mixer": mixer,
    "vit": vit,
    "bert": bert,
    "gpt": gpt,
    "t5_encoder": t5_encoder,
}


def build(name: str, device: str) -> Built:
    """A model in evaluation mode with random weights, always the same, and its inputs."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    _spread(model)
    return model.eval().to(device), tuple(value.to(device) for value in inputs)


@torch.no_grad()
def _spread(model: torch.nn.Module) -> None:
    """Gives normalisations statistics and scales that are not the trivial ones of a new model."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
        if isinstance(module, (torch.nn.BatchNorm2d, torch.nn.LayerNorm, torch.nn.GroupNorm)):
            module.weight.uniform_(0.5, 1.5)
            module.bias.normal_(0, 0.1)
