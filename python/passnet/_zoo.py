"""Models by name: from torchvision, timm, transformers, or a function in a file, each with inputs to run it on.

Weights are random: capture needs shapes and operations, not accuracy, and so nothing is downloaded.
"""

from __future__ import annotations

import ast
import dataclasses
import fnmatch
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

# A model larger than this does not fit the memory of an ordinary machine next to its activations.
PARAMETER_LIMIT = 2_000_000_000


class SpecError(ValueError):
    """A model specification that cannot be resolved; the message says how to mend it."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to build one model. `build` returns the model, its positional and its keyword arguments."""

    spec: str
    name: str
    metadata: dict[str, Any]
    build: Callable[[], tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]


def resolve(spec: str) -> Iterator[Recipe]:
    """The models that `spec` names, at least one. Raises :class:`SpecError`.

    ``torchvision:NAME``, ``timm:NAME``
        ``NAME`` may hold ``*`` and ``?``.
    ``transformers:TYPE``, ``transformers:TYPE?FIELD=VALUE&...``
        The base model of a model type such as ``bert``, with its default configuration but for the given fields.
    ``FILE.py:FUNCTION``
        ``FUNCTION()`` returns the model, or a tuple of the model, a tuple of arguments, and (optional) a dict of keyword
        arguments.
    """
    library, colon, rest = spec.rpartition(":") if ".py:" in spec else spec.partition(":")
    if not colon or not rest:
        raise SpecError(f"`{spec}`: write torchvision:NAME, timm:NAME, transformers:TYPE or FILE.py:FUNCTION")
    if library.endswith(".py"):
        yield _from_file(spec, Path(library), rest)
        return
    if library not in _LIBRARIES:
        raise SpecError(f"`{spec}`: no library `{library}`; use one of {', '.join(_LIBRARIES)}, or FILE.py:FUNCTION")
    if importlib.util.find_spec(library) is None:
        raise SpecError(f"`{spec}`: the Python package `{library}` is not installed; pip install {library}")
    recipes = iter(_LIBRARIES[library](rest))
    first = next(recipes, None)
    if first is None:
        raise SpecError(f"`{spec}`: {library} has no model of this name")
    yield from itertools.chain([first], recipes)


def _from_file(spec: str, path: Path, function: str) -> Recipe:
    def build() -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        loader = importlib.util.spec_from_file_location(path.stem, path)
        if loader is None or loader.loader is None or not path.is_file():
            raise SpecError(f"`{spec}`: {path} is not a Python file")
        module = importlib.util.module_from_spec(loader)
        loader.loader.exec_module(module)
        made = getattr(module, function, None)
        if made is None:
            raise SpecError(f"`{spec}`: {path} defines no `{function}`")
        made = made()
        model, args, kwargs = (*made, (), {})[:3] if isinstance(made, tuple) else (made, (), {})
        return model, tuple(args) if isinstance(args, list | tuple) else (args,), dict(kwargs)

    return Recipe(spec, f"{path.stem}/{function}", {"source": "user", "model_name": function}, build)


def _torchvision(pattern: str) -> Iterator[Recipe]:
    from torchvision import models

    def build(name: str) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        constructor = models.get_model_builder(name)
        # Only some constructors have a backbone, and only inception and googlenet ask for explicit initial weights.
        parameters = constructor.__kwdefaults__ or {}
        options = {"weights_backbone": None} if "weights_backbone" in parameters else {}
        options |= {"init_weights": True} if name in ("inception_v3", "googlenet") else {}
        return constructor(weights=None, **options), _torchvision_inputs(constructor.__module__, name), {}

    for name in sorted(models.list_models()):
        if fnmatch.fnmatchcase(name, pattern):
            metadata = {"source": "torchvision", "heuristic_tag": "computer_vision", "model_name": name}
            yield Recipe(f"torchvision:{name}", f"torchvision/{name}", metadata, lambda name=name: build(name))


def _torchvision_inputs(module: str, name: str) -> tuple[Any, ...]:
    if ".detection." in module:
        return ([torch.rand(3, 224, 224)],)
    if ".optical_flow." in module:
        return (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128))
    if ".video." in module:
        return (torch.rand(1, 3, 16, 224 if "mvit" in name else 112, 224 if "mvit" in name else 112),)
    size = 299 if name.endswith("inception_v3") else 518 if name == "vit_h_14_swag" else 224
    return (torch.randn(1, 3, size, size),)


def _timm(pattern: str) -> Iterator[Recipe]:
    import timm

    def build(name: str) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        model = timm.create_model(name, pretrained=False)
        return model, (torch.randn(1, *model.pretrained_cfg["input_size"]),), {}

    for name in sorted(timm.list_models(pattern)):
        metadata = {"source": "timm", "heuristic_tag": "computer_vision", "model_name": name}
        yield Recipe(f"timm:{name}", f"timm/{name}", metadata, lambda name=name: build(name))


def _transformers(request: str) -> Iterator[Recipe]:
    import transformers

    model_type, _, overrides = request.partition("?")
    if model_type not in transformers.CONFIG_MAPPING:
        return

    def build() -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        fields = dict(pair.partition("=")[::2] for pair in overrides.split("&") if pair)
        config = transformers.CONFIG_MAPPING[model_type](**{key: _value(text) for key, text in fields.items()})
        with torch.device("meta"):
            size = sum(p.numel() for p in transformers.AutoModel.from_config(config).parameters())
        if size > PARAMETER_LIMIT:
            raise SpecError(
                f"{size / 1e9:.1f}e9 parameters; shrink the model, e.g. transformers:{model_type}?num_hidden_layers=2"
            )
        model = transformers.AutoModel.from_config(config)
        return model, (), _transformers_inputs(model)

    metadata = {"source": "huggingface_hub", "heuristic_tag": "other", "model_name": model_type}
    yield Recipe(f"transformers:{request}", f"transformers/{model_type}", metadata, build)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _transformers_inputs(model: Any) -> dict[str, torch.Tensor]:
    config, main = model.config, model.main_input_name
    if main == "pixel_values":
        size = getattr(config, "image_size", 224)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        return {main: torch.randn(1, getattr(config, "num_channels", 3), height, width)}
    if main == "input_values":
        return {main: torch.randn(1, 16000)}
    if main == "input_features":
        inputs = {main: torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions)}
    elif main == "input_ids":
        inputs = {main: torch.randint(0, config.get_text_config().vocab_size, (2, 64))}
        inputs["attention_mask"] = torch.ones(2, 64, dtype=torch.int64)
    else:
        raise SpecError(f"no recipe for a model whose main input is `{main}`; use FILE.py:FUNCTION")
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(0, config.get_text_config().vocab_size, (inputs[main].shape[0], 16))
    return inputs


_LIBRARIES: dict[str, Callable[[str], Iterator[Recipe]]] = {
    "torchvision": _torchvision,
    "timm": _timm,
    "transformers": _transformers,
}
