"""timm: all models, on one image of the size that the model is made for, or of another size."""

from __future__ import annotations

from collections.abc import Iterator

import timm
import torch

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, by_name


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name matches `pattern`."""
    return by_name(spec, "timm", pattern, timm.list_models(), _build, "computer_vision", ("size",))


def _build(name: str, options: BuildOptions) -> BuiltModel:
    model = _model(name, options.size)
    channels, *sides = model.pretrained_cfg["input_size"]
    if options.size is not None:
        sides = [options.size, options.size]
    return BuiltModel(model, [Call("vision", (torch.randn(1, channels, *sides),))])


def _model(name: str, size: int | None) -> torch.nn.Module:
    if size is not None:
        try:
            return timm.create_model(name, pretrained=False, img_size=size)
        except TypeError as error:
            # Convolutional networks have no such parameter and take images of several sizes.
            if "img_size" not in str(error):
                raise
    return timm.create_model(name, pretrained=False)
