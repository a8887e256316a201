"""One decoding step of a language model: it reads one token, and the keys and values of the tokens before it from a cache."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from passnet._zoo.dry_run import objection
from passnet._zoo.recipe import Call, SpecError

# Names of the cache in calls and results of Transformers models. The first is that of version 5.24 and later.
_CACHES = ("cache", "past_key_values", "cache_params")


def next_call(model: Any, prompt: Call) -> Call:
    """Runs the model on a prompt, and returns a call with one more token and the cache. Raises :class:`SpecError`.

    The call has a mask over all tokens, and the position of the token if the model takes one. An encoder does not run again: the call has
    its result.
    """
    known = set(inspect.signature(model.forward).parameters)
    text = "decoder_input_ids" if "decoder_input_ids" in prompt.kwargs else "input_ids"
    ids = prompt.kwargs.get(text)
    if ids is None or ids.dim() != 2:
        raise SpecError("the model reads no text of the shape (batch, tokens), so it has no decoding step")
    model.eval()
    with torch.no_grad():
        result = model(**prompt.kwargs, **({"use_cache": True} if "use_cache" in known else {}))
    name = next((name for name in _CACHES if name in known and getattr(result, name, None) is not None), None)
    if name is None:
        raise SpecError("the model returns no cache of keys and values, so it has no decoding step")
    inputs = {text: ids[:, -1:].clone(), **_masks(prompt, text), name: getattr(result, name)}
    if "use_cache" in known:
        inputs["use_cache"] = True
    encoded = getattr(result, "encoder_last_hidden_state", None)
    if encoded is not None and "encoder_outputs" in known:
        inputs["encoder_outputs"] = (encoded,)
    placed = {**inputs, **_positions(known, text, ids)}
    # Some models have positions of another form, which they compute themselves.
    chosen = inputs if objection(model, placed) is not None and objection(model, inputs) is None else placed
    return Call("decode", (), chosen)


def _masks(prompt: Call, text: str) -> dict[str, torch.Tensor]:
    """Returns the masks and types of tokens for the next token."""
    found: dict[str, torch.Tensor] = {}
    mask = prompt.kwargs.get("attention_mask")
    if mask is not None:
        # In a model with an encoder, this is the mask of the encoder's text.
        found["attention_mask"] = mask if text == "decoder_input_ids" else _extended(mask)
    if (mask := prompt.kwargs.get("decoder_attention_mask")) is not None:
        found["decoder_attention_mask"] = _extended(mask)
    types = prompt.kwargs.get("token_type_ids")
    if types is not None and text == "input_ids":
        found["token_type_ids"] = types[:, -1:].clone()
    return found


def _extended(mask: torch.Tensor) -> torch.Tensor:
    return torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)


def _positions(known: set[str], text: str, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    batch, length = ids.shape
    prefix = text.removesuffix("input_ids")
    found: dict[str, torch.Tensor] = {}
    if f"{prefix}position_ids" in known:
        found[f"{prefix}position_ids"] = torch.full((batch, 1), length)
    if "cache_position" in known:
        found["cache_position"] = torch.tensor([length])
    return found
