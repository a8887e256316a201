"""Variants of a model: another dtype of weights and inputs, other sizes of inputs, a training step, a decoding step.

A specification has the variant after `@`: ``timm:resnet18@dtype=bfloat16&batch=8&mode=train``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from passnet._zoo import decode
from passnet._zoo.recipe import BuildOptions, BuiltModel, Call, Recipe, SpecError

_FIELD = r"(dtype|batch|length|size|mode)=[^&]*"
_SUFFIX = re.compile(rf"^{_FIELD}(&{_FIELD})*$")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Largest value of each number.
_LARGEST = {"batch": 4096, "length": 131_072, "size": 8192}
_MODES = ("train", "decode")
# Names of variants that the recipe has to implement, for messages.
_LACKED = {"length": "texts of a chosen length", "size": "images of a chosen size", "decode": "a decoding step"}


@dataclasses.dataclass(frozen=True)
class Variant:
    """Differences from the recipe: dtype, examples, tokens of a text, pixels of an image, and the step that is captured."""

    dtype: str | None = None
    batch: int | None = None
    length: int | None = None
    size: int | None = None
    mode: str | None = None

    @property
    def suffix(self) -> str:
        """Returns the end of the folder's name."""
        sizes = (f"-{self.dtype}" if self.dtype else "") + (f"-batch{self.batch}" if self.batch else "")
        sizes += (f"-length{self.length}" if self.length else "") + (f"-size{self.size}" if self.size else "")
        return sizes + (f"-{self.mode}" if self.mode else "")

    @property
    def fields(self) -> dict[str, Any]:
        """Returns the differences by name."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}


def split(spec: str) -> tuple[str, Variant | None]:
    """Returns a specification without its variant, and the variant. Raises :class:`SpecError`."""
    base, at, text = spec.rpartition("@")
    if not at or not base or not _SUFFIX.match(text):
        return spec, None
    fields = dict(pair.split("=", 1) for pair in text.split("&"))
    dtype, mode = fields.get("dtype"), fields.get("mode")
    if dtype is not None and dtype not in _DTYPES:
        raise SpecError(f"`{spec}`: no dtype `{dtype}`; use one of {', '.join(_DTYPES)}")
    if mode is not None and mode not in _MODES:
        raise SpecError(f"`{spec}`: no mode `{mode}`; use `train` or `decode`, or leave it out for evaluation")
    numbers: dict[str, int] = {}
    for name, largest in _LARGEST.items():
        value = fields.get(name)
        if value is None:
            continue
        if not (value.isdecimal() and 1 <= int(value) <= largest):
            raise SpecError(f"`{spec}`: a {name} is a number from 1 to {largest}, not `{value}`")
        numbers[name] = int(value)
    return base, Variant(dtype=dtype, mode=mode, **numbers)


def varied(recipe: Recipe, variant: Variant, suffix: str) -> Recipe:
    """Returns the recipe of a variant of a model; `suffix` is the end of its specification. Raises :class:`SpecError`."""
    for name, lacked in _LACKED.items():
        if name in (*variant.fields, variant.mode) and name not in recipe.variants:
            raise SpecError(f"`{recipe.spec}{suffix}`: models of this kind do not have {lacked}; leave out `{name}`")

    def build(options: BuildOptions) -> BuiltModel:
        length, size = variant.length or options.length, variant.size or options.size
        built = recipe.build(dataclasses.replace(options, length=length, size=size))
        if variant.dtype is not None:
            if not isinstance(built.model, torch.nn.Module):
                raise SpecError(f"`{recipe.spec}` is a function, whose dtype cannot be changed")
            built.model.to(_DTYPES[variant.dtype])
        calls = _calls(built.calls, variant)
        return dataclasses.replace(built, calls=calls, metadata={**built.metadata, "variant": variant.fields})

    return dataclasses.replace(
        recipe,
        spec=recipe.spec + suffix,
        name=recipe.name + variant.suffix,
        metadata={**recipe.metadata, "model_name": f"{recipe.metadata['model_name']}{variant.suffix}"},
        build=build,
        trains=variant.mode == "train",
        next_call=decode.next_call if variant.mode == "decode" else None,
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
