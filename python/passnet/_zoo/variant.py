"""Variants of a model: another dtype of weights and inputs, another batch size, a training step.

A specification has the variant after `@`: ``timm:resnet18@dtype=bfloat16&batch=8&mode=train``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from passnet._zoo.recipe import BuiltModel, Call, Limits, Recipe, SpecError

_SUFFIX = re.compile(r"^(dtype|batch|mode)=[^&]*(&(dtype|batch|mode)=[^&]*)*$")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclasses.dataclass(frozen=True)
class Variant:
    """Differences from the recipe: the dtype, the batch size, and whether a training step is captured."""

    dtype: str | None = None
    batch: int | None = None
    mode: str | None = None

    @property
    def suffix(self) -> str:
        """Returns the end of the folder's name."""
        sizes = (f"-{self.dtype}" if self.dtype else "") + (f"-batch{self.batch}" if self.batch else "")
        return sizes + (f"-{self.mode}" if self.mode else "")


def split(spec: str) -> tuple[str, Variant | None]:
    """Returns a specification without its variant, and the variant. Raises :class:`SpecError`."""
    base, at, text = spec.rpartition("@")
    if not at or not base or not _SUFFIX.match(text):
        return spec, None
    fields = dict(pair.split("=", 1) for pair in text.split("&"))
    dtype, batch = fields.get("dtype"), fields.get("batch")
    if dtype is not None and dtype not in _DTYPES:
        raise SpecError(f"`{spec}`: no dtype `{dtype}`; use one of {', '.join(_DTYPES)}")
    if batch is not None and not (batch.isdecimal() and 1 <= int(batch) <= 4096):
        raise SpecError(f"`{spec}`: a batch is a number from 1 to 4096, not `{batch}`")
    mode = fields.get("mode")
    if mode not in (None, "train"):
        raise SpecError(f"`{spec}`: no mode `{mode}`; use `train`, or leave it out for evaluation")
    return base, Variant(dtype, int(batch) if batch else None, mode)


def varied(recipe: Recipe, variant: Variant, suffix: str) -> Recipe:
    """Returns the recipe of a variant of a model; `suffix` is the end of its specification."""
    fields = {name: value for name, value in dataclasses.asdict(variant).items() if value is not None}

    def build(limits: Limits) -> BuiltModel:
        built = recipe.build(limits)
        if variant.dtype is not None:
            if not isinstance(built.model, torch.nn.Module):
                raise SpecError(f"`{recipe.spec}` is a function, whose dtype cannot be changed")
            built.model.to(_DTYPES[variant.dtype])
        calls = _calls(built.calls, variant)
        return dataclasses.replace(built, calls=calls, metadata={**built.metadata, "variant": fields})

    return dataclasses.replace(
        recipe,
        spec=recipe.spec + suffix,
        name=recipe.name + variant.suffix,
        metadata={**recipe.metadata, "model_name": f"{recipe.metadata['model_name']}{variant.suffix}"},
        build=build,
        trains=variant.mode == "train",
    )


def _calls(calls: Any, variant: Variant) -> Iterator[Call]:
    for call in calls:
        change = _change(call, variant)
        yield dataclasses.replace(call, args=tree_map(change, call.args), kwargs=tree_map(change, call.kwargs))


def _change(call: Call, variant: Variant) -> Callable[[Any], Any]:
    tensors = [value for value in tree_leaves((call.args, call.kwargs)) if isinstance(value, torch.Tensor)]
    examples = next((len(tensor) for tensor in tensors if tensor.dim() > 1), 1)

    def change(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if variant.dtype is not None and value.is_floating_point():
            value = value.to(_DTYPES[variant.dtype])
        # Changes all inputs with one entry per example.
        if variant.batch is not None and value.dim() >= 1 and len(value) == examples:
            times = -(-variant.batch // examples)
            value = value.repeat(times, *[1] * (value.dim() - 1))[: variant.batch].contiguous()
        return value

    return change
