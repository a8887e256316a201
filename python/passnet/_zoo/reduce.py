"""Reduces configurations of Transformers models: fewer layers, fewer experts, a smaller vocabulary, narrower layers.

A default configuration often describes the largest model of its type. :func:`steps` yields smaller and smaller configurations, each with
its changes, so that a sample can say that it differs from the model that it is named after. Only sizes change, never the kinds of layers:
a hybrid model keeps so many layers that it has one of each kind.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

# Number of layers to keep of each stack, and the largest number of layers to keep in order to have each kind.
_LAYERS = 2
_LAYERS_LIMIT = 8
_EXPERTS = 8
_VOCABULARY = 32_768
# Narrowing factors that are tried in turn.
_FACTORS = (2, 4, 8, 16)

_DEPTH = re.compile(
    r"^(\w+_)?num_(hidden_|encoder_|decoder_|spatial_|temporal_|auxiliary_|attention_|global_)?layers$"
    r"|^(\w+_)?(encoder|decoder)_layers$|^n_layers?$|^[lxr]_layers$|^layers$|^depth$|^num_blocks$"
    r"|^resampler_depth$|^num_self_attends_per_block$|^num_layers_per_stack$|^num_sparse_\w+_layers$"
)
_NO_DEPTH = re.compile(r"lstm|conv|loss|residual|wavenet|timestamp|auxiliary|memory|perceiver_resampler")
_STAGE_DEPTHS = re.compile(r"^(depths|depth|blocks_per_stage|stage_num_blocks|num_block_repeats|n_attn_blocks)$")
# Names of fields that are lists of positions of layers.
_POSITIONS = re.compile(r"(index|indexes|indices|idxs?|ids|blocks|layers)$")
# Fields that count layers within a stack, so they cannot exceed the size of the stack.
_WITHIN = ("num_kv_shared_layers", "max_window_layers", "first_k_dense_replace", "num_dense_layers")
_EXPERT_COUNTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_EXPERTS_PER_TOKEN = ("num_experts_per_tok", "moe_topk", "moe_top_k", "num_experts_per_token", "top_k_experts")
_TOKEN = re.compile(r"token_(id|index)$")
_HEADS = re.compile(r"^(\w+_)?(num_(attention_|key_value_|query_|kv_)?heads|attention_heads|n_heads?)$")
_WIDTH = re.compile(
    r"^(\w+_)?(hidden_size|intermediate_size|d_model|n_embd|embed_dim|ffn_dim|d_ff|n_inner|hidden_dim|mlp_dim|dim|d_inner"
    r"|embedding_size|word_embed_proj_dim|ffn_hidden_size|projection_dim|inner_dim|vocab_hidden)$"
)
# Names of sizes that do not change, such as the size of a head.
_NO_WIDTH = re.compile(r"head|rotary|kernel|per_layer")


def steps(config: Any) -> Iterator[tuple[Any, dict[str, list[Any]]]]:
    """Yields the configuration, then smaller and smaller ones, each with its changes as ``{field: [before, after]}``."""
    yield config, {}
    current = copy.deepcopy(config)
    for part in _parts(current):
        _shorten(part)
    yield copy.deepcopy(current), changes(config, current)
    for part in _parts(current):
        _drop_experts(part)
    _shrink_vocabulary(current)
    yield copy.deepcopy(current), changes(config, current)
    for factor in _FACTORS:
        narrow = copy.deepcopy(current)
        parts = list(_parts(narrow))
        if all(_divisible(part, factor) for part in parts):
            for part in parts:
                _narrow(part, factor)
            yield narrow, changes(config, narrow)


def changes(before: Any, after: Any) -> dict[str, list[Any]]:
    """Returns the fields in which two configurations of one class differ, by dotted name."""
    found: dict[str, list[Any]] = {}
    for name, value in vars(after).items():
        old = vars(before).get(name)
        if _is_config(value) and _is_config(old):
            found |= {f"{name}.{inner}": pair for inner, pair in changes(old, value).items()}
        elif isinstance(value, bool | int | list | tuple) and value != old:
            found[name.lstrip("_")] = [_short(old), _short(value)]
    return found


def _short(value: Any) -> Any:
    return f"{len(value)} entries" if isinstance(value, list | tuple) and len(value) > 8 else value


def _is_config(value: Any) -> bool:
    from transformers import PreTrainedConfig

    return isinstance(value, PreTrainedConfig)


def _parts(config: Any) -> Iterator[Any]:
    """Yields the configuration and the configurations inside it."""
    yield config
    for value in list(vars(config).values()):
        if _is_config(value):
            yield from _parts(value)


def _fields(config: Any, kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(config).items()):
        if isinstance(value, kind) and not isinstance(value, bool):
            yield name, value


def _shorten(config: Any) -> None:
    """Reduces the layers of each stack, and adapts the fields that list or count layers."""
    for name, depths in _fields(config, list | tuple):
        if _STAGE_DEPTHS.match(name) and all(isinstance(depth, int) for depth in depths):
            setattr(config, name, type(depths)(min(depth, _LAYERS) for depth in depths))
    depths = {name: value for name, value in _fields(config, int) if _DEPTH.match(name) and not _NO_DEPTH.search(name)}
    lists = dict(_fields(config, list | tuple))
    for name, depth in depths.items():
        layers = min(depth, _layers_for_each_kind([value for value in lists.values() if len(value) == depth]))
        if layers < depth:
            setattr(config, name, layers)
            _truncate(config, lists, depth, layers)


def _layers_for_each_kind(lists: Sequence[Sequence[Any]]) -> int:
    layers = _LAYERS
    for kinds in lists:
        if all(isinstance(kind, str) for kind in kinds):
            first = [kinds.index(kind) + 1 for kind in set(kinds)]
            layers = max([layers, *(position for position in first if position <= _LAYERS_LIMIT)])
    return layers


def _truncate(config: Any, lists: dict[str, Any], depth: int, layers: int) -> None:
    for name, value in lists.items():
        if len(value) == depth:
            setattr(config, name, value[:layers])
        elif _POSITIONS.search(name) and all(type(item) is int and 0 <= item <= depth for item in value):
            setattr(config, name, type(value)(_spread(len(value), layers)))
        elif name == "stage_names" and len(value) == depth + 1:
            config.stage_names = value[: layers + 1]
            config._out_features, config._out_indices = [config.stage_names[-1]], [layers]
    for name in _WITHIN:
        if isinstance(count := vars(config).get(name), int):
            setattr(config, name, min(count, layers - 1))


def _spread(count: int, layers: int) -> list[int]:
    """Returns `count` positions of layers, with as few repetitions as possible."""
    return [min(position, layers - 1) for position in range(count)]


def _drop_experts(config: Any) -> None:
    for name, count in _fields(config, int):
        if name in _EXPERT_COUNTS and count > _EXPERTS:
            setattr(config, name, _EXPERTS)
            for groups in ("n_group", "topk_group"):
                if vars(config).get(groups):
                    setattr(config, groups, 1)
        elif name in _EXPERTS_PER_TOKEN:
            setattr(config, name, min(count, 2))


def _shrink_vocabulary(config: Any) -> None:
    """Reduces the vocabulary. Tokens with a special meaning get smaller numbers within it, all different."""
    parts = list(_parts(config))
    if not any(_vocabulary(part) > _VOCABULARY for part in parts):
        return
    for part in parts:
        if _vocabulary(part) > _VOCABULARY:
            part.vocab_size = _VOCABULARY
    limit = min(_vocabulary(part) for part in parts if _vocabulary(part) > 0)
    tokens = [(part, name, value) for part in parts for name, value in _fields(part, int) if _TOKEN.search(name)]
    moved = sorted({value for _, _, value in tokens if value >= limit})
    for part, name, value in tokens:
        if value >= limit:
            setattr(part, name, limit - 1 - moved.index(value))


def _vocabulary(config: Any) -> int:
    size = vars(config).get("vocab_size")
    return size if isinstance(size, int) else 0


def _is_width(name: str) -> bool:
    return _WIDTH.match(name) is not None and _NO_WIDTH.search(name) is None


def _divisible(config: Any, factor: int) -> bool:
    heads = [value for name, value in _fields(config, int) if _HEADS.match(name) and "key_value" not in name]
    widths = [value for name, value in _fields(config, int) if _is_width(name)]
    return all(value % factor == 0 for value in heads) and all(
        value % (8 * factor) == 0 or value < 64 for value in widths
    )


def _narrow(config: Any, factor: int) -> None:
    """Divides widths and numbers of heads by `factor`. The size of a head does not change."""
    for name, value in _fields(config, int):
        if _HEADS.match(name):
            setattr(config, name, max(1, math.ceil(value / factor)))
        elif _is_width(name) and value >= 64:
            setattr(config, name, value // factor)
