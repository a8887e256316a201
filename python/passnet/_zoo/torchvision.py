"""torchvision: all models, with inputs chosen by the package of the model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torchvision import models

from passnet._zoo import BuiltModel, Call, Limits, Recipe, named


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Yields the models whose name matches `pattern`."""
    for name in named(spec, "torchvision", pattern, models.list_models()):
        metadata = {"source": "torchvision", "heuristic_tag": "computer_vision", "model_name": name}
        yield Recipe(
            f"torchvision:{name}", f"torchvision/{name}", metadata, lambda limits, name=name: _build(name, limits)
        )


def _build(name: str, _limits: Limits) -> BuiltModel:
    constructor = models.get_model_builder(name)
    # Only some constructors have a parameter for the backbone, and only Inception and GoogLeNet need an option for initial weights.
    parameters = inspect.signature(constructor).parameters
    options = {"weights_backbone": None} if "weights_backbone" in parameters else {}
    options |= {"init_weights": True} if name in ("inception_v3", "googlenet") else {}
    return BuiltModel(constructor(weights=None, **options), [Call("vision", _inputs(constructor.__module__, name))])


def _inputs(module: str, name: str) -> tuple[Any, ...]:
    if ".detection." in module:
        return ([torch.rand(3, 224, 224)],)
    if ".optical_flow." in module:
        return (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128))
    if ".video." in module:
        size = 224 if "mvit" in name or "swin3d" in name else 112
        return (torch.rand(1, 3, 16, size, size),)
    size = 299 if name.endswith("inception_v3") else 518 if name == "vit_h_14_swag" else 224
    return (torch.randn(1, 3, size, size),)
