"""Transformers: models of all model types, from configurations, with random weights."""

from __future__ import annotations

import ast
import fnmatch
import functools
import hashlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from transformers import initialization
from transformers.models.auto import modeling_auto

from passnet._zoo import BuildOptions, BuiltModel, Recipe, SpecError, inputs, named, reduce

# Values for fields of configurations whose defaults disable inputs of the model.
_COMPLETIONS = {"num_time_features": 2}
# Largest number of parameters. The address space of a process is too small for more, even if the memory stays unused.
_PARAMETER_LIMIT = 20e9


def recipes(spec: str, request: str) -> Iterator[Recipe]:
    """Yields the models of the types and classes that `request` names."""
    pattern, _, overrides = request.partition("?") if "=" in request else (request, "", "")
    kind, _, class_pattern = pattern.partition("/")
    fields = {key: _value(text) for key, _, text in (pair.partition("=") for pair in overrides.split("&") if pair)}
    types = named(spec, "transformers", kind, sorted(_classes()))
    # If several types match, types without such a class are left out: `*/*ForTokenClassification` means all types that have one.
    chosen = {model_type: _chosen(model_type, class_pattern) for model_type in types}
    if not any(chosen.values()):
        raise _no_class(spec, types, class_pattern)
    for model_type, class_names in chosen.items():
        for class_name in class_names:
            # The folder of a class is next to that of the base model, not below it. Otherwise one sample would contain the other.
            own, folder = model_type, model_type
            if class_pattern:
                own, folder = f"{model_type}/{class_name}", f"{model_type}-{class_name}"
            metadata = {"source": "huggingface_hub", "model_name": model_type, "model_class": class_name}
            yield Recipe(
                f"transformers:{own}{'?' if overrides else ''}{overrides}",
                f"transformers/{folder}{_folder_suffix(overrides)}",
                metadata,
                functools.partial(_build, model_type, class_name, fields),
                variants=frozenset({"length", "decode"}),
            )


def _folder_suffix(overrides: str) -> str:
    """Returns a readable and unique suffix of the folder name of a configuration; empty for the default configuration."""
    if not overrides:
        return ""
    readable = re.sub(r"[^A-Za-z0-9_.=]+", "-", overrides)[:60].strip("-")
    return f"-{readable}-{hashlib.sha256(overrides.encode()).hexdigest()[:8]}"


@functools.cache
def _classes() -> dict[str, list[str]]:
    """Returns the names of the classes of each model type. The base model comes first, if the type has one."""
    found: dict[str, list[str]] = {}
    tables = [name for name in vars(modeling_auto) if name.startswith("MODEL_") and name.endswith("_NAMES")]
    for table in sorted(tables, key=lambda name: name != "MODEL_MAPPING_NAMES"):
        for model_type, names in getattr(modeling_auto, table).items():
            for name in names if isinstance(names, list | tuple) else (names,):
                if name not in found.setdefault(model_type, []):
                    found[model_type].append(name)
    return found


def _chosen(model_type: str, pattern: str) -> list[str]:
    names = _classes()[model_type]
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)] if pattern else names[:1]


def _no_class(spec: str, types: list[str], pattern: str) -> SpecError:
    if len(types) > 1:
        return SpecError(f"`{spec}`: none of {len(types)} model types has a class `{pattern}`")
    return SpecError(f"`{spec}`: {types[0]} has no class `{pattern}`; it has {', '.join(_classes()[types[0]])}")


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _build(model_type: str, class_name: str, fields: dict[str, Any], options: BuildOptions) -> BuiltModel:
    model_class = getattr(transformers, class_name)
    config = _configuration(model_type, class_name, fields)
    completed: dict[str, int] = {}
    try:
        config, changed, parameters = _fitting(model_class, config, options.parameters)
    except TypeError:
        completed = _completed(config)
        if not completed:
            raise
        config, changed, parameters = _fitting(model_class, config, options.parameters)
    model = _construct(model_class, config).eval()
    metadata: dict[str, Any] = {"parameters": parameters, "heuristic_tag": inputs.domain(model)}
    if fields:
        metadata["configuration"] = fields
    if completed:
        metadata["completed"] = completed
    if changed:
        metadata["reduced"] = changed
    return BuiltModel(model, inputs.calls(model, options.length), metadata)


def _configuration(model_type: str, class_name: str, fields: dict[str, Any]) -> Any:
    config_class = transformers.CONFIG_MAPPING[model_type]
    config = config_class(**fields)
    missing = {name: value for name, value in _COMPLETIONS.items() if getattr(config, name, None) == 0}
    config = config_class(**{**missing, **fields}) if missing else config
    # A decoder classifies a text by its last token that is not padding. Without this field it refuses several texts.
    if class_name.endswith("ForSequenceClassification"):
        text = config.get_text_config()
        if getattr(text, "pad_token_id", None) is None:
            text.pad_token_id = 0
    return config


def _completed(config: Any) -> dict[str, int]:
    """Sets sizes that the default configuration leaves open and that follow from other sizes. Returns these fields.

    Published checkpoints of these types have the fields, and constructors fail without them.
    """
    text = config.get_text_config()
    heads, width = getattr(text, "num_attention_heads", None), getattr(text, "hidden_size", None)
    if not isinstance(heads, int) or not isinstance(width, int) or heads == 0:
        return {}
    derived = {"num_key_value_heads": heads, "head_dim": width // heads}
    missing = {name: value for name, value in derived.items() if vars(text).get(name, 0) is None}
    for name, value in missing.items():
        setattr(text, name, value)
    return missing


def _fitting(model_class: Any, config: Any, limit: float) -> tuple[Any, dict[str, list[Any]], int]:
    """Returns the largest configuration within the limit, its changes, and its number of parameters.

    If none is within the limit, the configuration is the smallest one that makes a model.
    """
    best: tuple[Any, dict[str, list[Any]], int] | None = None
    error: Exception | None = None
    for smaller, changed in reduce.steps(config):
        try:
            parameters = _size(model_class, smaller)
        except Exception as refused:
            error = error or refused
            continue
        if best is None or parameters < best[2]:
            best = smaller, changed, parameters
        if parameters <= limit:
            break
    if best is None:
        raise error or SpecError("the type has no configuration")
    if best[2] > _PARAMETER_LIMIT:
        raise SpecError(f"{best[2] / 1e9:.0f}e9 parameters even if reduced; give smaller sizes with ?FIELD=VALUE")
    return best


def _size(model_class: Any, config: Any) -> int:
    with torch.device("meta"), initialization.meta_device_safe_creation_ops():
        return sum(parameter.numel() for parameter in _construct(model_class, config).parameters())


def _construct(model_class: Any, config: Any) -> Any:
    build = getattr(model_class, "_from_config", None)
    if build is None or "config" not in inspect.signature(build).parameters:
        return model_class(config)
    return build(config, dtype=torch.float32)
