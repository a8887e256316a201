"""torchvision: all models, with inputs chosen by the package of the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torchvision import models

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, by_name

# Modules of models for one size of image: the parameter for the size, and its value for images of N x N pixels.
_SIZED: dict[str, tuple[str, Callable[[int], Any]]] = {
    "vision_transformer": ("image_size", lambda side: side),
    "maxvit": ("input_size", lambda side: (side, side)),
}


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name matches `pattern`."""
    return by_name(spec, "torchvision", pattern, models.list_models(), _build, "computer_vision", ("size",))


def _build(name: str, options: BuildOptions) -> BuiltModel:
    constructor = models.get_model_builder(name)
    # Only some constructors have a parameter for the backbone, and only Inception and GoogLeNet need an option for initial weights.
    parameters = inspect.signature(constructor).parameters
    arguments: dict[str, Any] = {"weights_backbone": None} if "weights_backbone" in parameters else {}
    arguments |= {"init_weights": True} if name in ("inception_v3", "googlenet") else {}
    module = constructor.__module__
    if options.size is not None and (sized := _SIZED.get(module.rpartition(".")[2])) is not None:
        parameter, value = sized
        arguments[parameter] = value(options.size)
    return BuiltModel(constructor(weights=None, **arguments), [Call("vision", _inputs(module, name, options.size))])


def _inputs(module: str, name: str, size: int | None) -> tuple[Any, ...]:
    if ".detection." in module:
        side = size or 224
        return ([torch.rand(3, side, side)],)
    if ".optical_flow." in module:
        side = size or 128
        return (torch.rand(1, 3, side, side), torch.rand(1, 3, side, side))
    if ".video." in module:
        side = size or (224 if "mvit" in name or "swin3d" in name else 112)
        return (torch.rand(1, 3, 16, side, side),)
    side = size or (299 if name.endswith("inception_v3") else 518 if name == "vit_h_14_swag" else 224)
    return (torch.randn(1, 3, side, side),)
