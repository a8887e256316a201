"""Makes inputs for Transformers models from the signature of ``forward`` and the configuration.

Each parameter that :mod:`passnet._zoo.tensors` knows has one tensor or a few alternatives: an image as one tensor or as patches, a
spectrogram with time first or last. :func:`calls` combines them, with the most inputs first, and checks which sets the model accepts. Such
a check takes a fraction of a second and no memory.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import torch

from passnet._zoo import Call, SpecError
from passnet._zoo.dry_run import features, objection
from passnet._zoo.sizes import Sizes
from passnet._zoo.tensors import alternatives

# Number of texts that a model for multiple choice compares.
_CHOICES = 2
# Largest number of sets of inputs that are checked with the model.
_CANDIDATES = 400
_QUESTIONS = 40

_TEXT = ("input_ids", "attention_mask", "bbox", "token_type_ids")
_VISUAL = (
    "pixel_values",
    "image_grid_thw",
    "image_sizes",
    "image_position_ids",
    "pixel_attention_mask",
    "spatial_shapes",
)
_AUDIO = ("input_features", "input_values", "input_features_mask", "feature_attention_mask")
_TIME_SERIES = (
    *("past_values", "past_time_features", "past_observed_mask", "past_values_padding", "freq"),
    *("future_values", "future_time_features", "static_categorical_features", "static_real_features"),
)
_TRAJECTORY = ("states", "actions", "rewards", "returns_to_go", "timesteps")
_DECODER = ("decoder_input_ids",)
# Inputs whose number of tokens can be chosen.
_IDS = ("input_ids", "decoder_input_ids")


def domain(model: Any) -> str:
    """Returns the domain of a model as a value of ``heuristic_tag``."""
    mains = model.main_input_name if isinstance(model.main_input_name, list) else [model.main_input_name]
    known = set(inspect.signature(model.forward).parameters)
    kinds = [
        ("nlp", bool(known & {"input_ids"})),
        ("computer_vision", bool(known & {"pixel_values", "pixel_values_videos", "flattened_patches", "grid_thw"})),
        ("audio", bool(known & {"input_features", "input_values", "audio_values"}) or mains == ["audio_mel"]),
    ]
    found = [kind for kind, present in kinds if present]
    return found[0] if len(found) == 1 else "multimodal" if found else "other"


def calls(model: Any, length: int | None = None) -> Iterator[Call]:
    """Yields ways to call the model, those with the most inputs first. Raises :class:`SpecError` if no input is known.

    If `length` is given, each call has texts of so many tokens. A model that reads no text or no text so long then raises
    :class:`SpecError` too.
    """
    if length is not None:
        _check_length(model, length)
    rejected: Call | None = None
    accepted: set[str] = set()
    asked: set[str] = set()
    for call in itertools.islice(_candidates(model, length), _CANDIDATES):
        if length is not None and not _has_length(call, length):
            continue
        call = _for_head(type(model).__name__, call)
        described = str({name: getattr(value, "shape", value) for name, value in call.kwargs.items()})
        if call.label in accepted or described in asked or len(asked) == _QUESTIONS:
            continue
        asked.add(described)
        if objection(model, call.kwargs) is None:
            accepted.add(call.label)
            yield call
        else:
            rejected = rejected or call
    if accepted:
        return
    if rejected is None:
        wanted = ", ".join(_required(model)) or model.main_input_name
        raise SpecError(f"no recipe for the inputs {wanted}; use FILE.py:FUNCTION")
    # The model refuses all sets of inputs. A real call of this one reports the reason.
    yield rejected


def _for_head(name: str, call: Call) -> Call:
    """Returns the call with the inputs that the head of a model class needs."""
    inputs = call.kwargs
    if name.endswith("ForMultipleChoice"):
        # The same texts for several choices: ids have the shape (batch, choices, tokens).
        inputs = {key: value[:, None].repeat(1, _CHOICES, *[1] * (value.dim() - 1)) for key, value in inputs.items()}
    if name.endswith("ForSequenceClassification") and "input_ids" in inputs:
        # The decoder gets the text itself. The model classifies the decoder's state at the end of the text.
        inputs = {key: inputs["input_ids"].clone() if key in _DECODER else value for key, value in inputs.items()}
    return dataclasses.replace(call, kwargs=inputs)


def _check_length(model: Any, length: int) -> None:
    """Raises :class:`SpecError` if the model reads no text, or has fewer positions than `length`."""
    if not set(inspect.signature(model.forward).parameters) & set(_IDS):
        raise SpecError("the model reads no text; leave out `length`")
    positions = Sizes(model.config, set()).positions
    # In models such as RoBERTa, positions of tokens begin after the number of the padding token.
    if any(hasattr(module, "create_position_ids_from_input_ids") for module in model.modules()):
        positions -= 1 + (getattr(model.config, "pad_token_id", None) or 0)
    if length > positions:
        raise SpecError(f"the model has positions for {positions} tokens, fewer than the length {length}")


def _has_length(call: Call, length: int) -> bool:
    texts = [call.kwargs[name] for name in _IDS if name in call.kwargs]
    return bool(texts) and all(length in text.shape[1:] for text in texts)


def _required(model: Any) -> list[str]:
    parameters = inspect.signature(model.forward).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]


def _candidates(model: Any, length: int | None) -> Iterator[Call]:
    known = list(inspect.signature(model.forward).parameters)
    sizes = Sizes(model.config, set(known), length)
    required = _required(model)
    mains = model.main_input_name if isinstance(model.main_input_name, list) else [model.main_input_name]
    mains = [name for name in mains if name in known] or [name for name in required if name in known]
    if "input_ids" in known and sizes.placeholder_token("image") is not None and "pixel_values" in known:
        yield from _with_features(model, sizes, known, "image", _VISUAL, "get_image_features")
    audio = [name for name in _AUDIO if name in known]
    if "input_ids" in known and sizes.placeholder_token("audio") is not None and audio:
        yield from _with_features(model, sizes, known, "audio", _AUDIO, "get_audio_features")
    groups = {"text": _TEXT, "vision": _VISUAL, "audio": _AUDIO, "time series": _TIME_SERIES, "trajectory": _TRAJECTORY}
    everything = [name for group in groups.values() for name in group]
    dual = "input_ids" in known and sizes.placeholder_token("image") is None and ("pixel_values" in known or audio)
    if dual and not {"decoder_input_ids"} & set(known):
        yield from _product(sizes, known, [*required, *mains, *everything], "multimodal")
    for label, group in groups.items():
        if set(mains) & set(group) or (label == "time series" and "past_values" in known):
            yield from _product(sizes, known, [*required, *mains, *group, *_DECODER], label)
    yield from _product(sizes, known, [*required, *mains, *_DECODER], "main")
    yield from _product(sizes, known, [*required, *mains], "main")
    yield from _product(sizes, known, [*required, *mains, *everything, *_DECODER], "everything")
    if not set(mains) & set(_TEXT) and "input_ids" in known:
        yield from _product(sizes, known, [*required, *_TEXT, *_DECODER], "text")
    yield from _product(sizes, known, known, "all that is known")


def _product(sizes: Sizes, known: list[str], names: list[str], label: str) -> Iterator[Call]:
    """Yields all ways to choose an alternative for each of the `names` that the model has."""
    chosen = [name for name in dict.fromkeys(names) if name in known]
    tensors = {name: alternatives(name, sizes) for name in chosen}
    chosen = [name for name in chosen if tensors[name]]
    if not chosen:
        return
    # Alternatives of later inputs vary fastest. Alternatives of one group vary together.
    longest = max(len(tensors[name]) for name in chosen)
    for index in range(longest):
        yield Call(label, (), {name: tensors[name][min(index, len(tensors[name]) - 1)] for name in chosen})
    for combination in itertools.product(*(tensors[name] for name in chosen)):
        yield Call(label, (), dict(zip(chosen, combination, strict=True)))


def _with_features(
    model: Any, sizes: Sizes, known: list[str], kind: str, group: tuple[str, ...], method: str
) -> Iterator[Call]:
    """Yields calls with a text that has one placeholder for each feature that the model makes of an image or of audio."""
    function = getattr(model, method, None)
    if function is None:
        return
    # Some inputs select another mode of the model, so sets with fewer inputs come first.
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty
    ]
    fewest = _product(sizes, known, [name for name in group if name in needed], "multimodal")
    most = _product(sizes, known, list(group), "multimodal")
    for call in itertools.chain(itertools.islice(fewest, 6), itertools.islice(most, 6)):
        count = features(function, call.kwargs)
        if count is None or count > 4096:
            continue
        token = sizes.placeholder_token(kind)
        others = 8 if sizes.length is None else sizes.length - count
        if others < 1:
            continue
        text = sizes.text_ids(others)
        ids = torch.cat([text[:, :4], torch.full((1, count), token), text[:, 4:]], dim=1)
        inputs = {**call.kwargs, "input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if "mm_token_type_ids" in known:
            inputs["mm_token_type_ids"] = (ids == token).long()
        if "token_type_ids" in known:
            inputs["token_type_ids"] = (ids == token).long()
        yield Call("multimodal", (), inputs)
        return
