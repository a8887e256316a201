"""timm: all models, on one image of the size that the model is made for."""

from __future__ import annotations

from collections.abc import Iterator

import timm
import torch

from passnet._zoo import BuiltModel, Call, Limits, Recipe, named


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Yields the models whose name matches `pattern`."""
    for name in named(spec, "timm", pattern, timm.list_models()):
        metadata = {"source": "timm", "heuristic_tag": "computer_vision", "model_name": name}
        yield Recipe(f"timm:{name}", f"timm/{name}", metadata, lambda limits, name=name: _build(name, limits))


def _build(name: str, _limits: Limits) -> BuiltModel:
    model = timm.create_model(name, pretrained=False)
    return BuiltModel(model, [Call("vision", (torch.randn(1, *model.pretrained_cfg["input_size"]),))])
