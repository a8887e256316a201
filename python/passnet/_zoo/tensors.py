"""Makes tensors for the parameters of Transformers models, by the name of the parameter and the sizes in the configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from passnet._zoo.sizes import Sizes

# Numbers of tokens of a text, frames of a video, and audio samples.
_TOKENS = 32
_FRAMES = 8
_SAMPLES = 16_000

_Maker = Callable[[Sizes], Iterator[Any]]
_MAKERS: dict[str, _Maker] = {}


def alternatives(name: str, sizes: Sizes) -> list[Any]:
    """Returns tensors that may fit the parameter `name`, the most probable one first; an empty list for an unknown name."""
    maker = _MAKERS.get(name)
    return [] if maker is None else list(maker(sizes))


def _input(*names: str) -> Callable[[_Maker], _Maker]:
    def register(maker: _Maker) -> _Maker:
        for name in names:
            _MAKERS[name] = maker
        return maker

    return register


@_input("input_ids")
def _input_ids(sizes: Sizes) -> Iterator[Any]:
    for length in sizes.text_lengths():
        yield sizes.text_ids(length)
    codebooks = sizes.first(sizes.config, "num_codebooks", "n_codes_total", default=0)
    if isinstance(codebooks, int) and codebooks:
        ids = torch.randint(0, min(sizes.vocabulary, 1024), (1, sizes.tokens, codebooks))
        yield from (ids, ids[0].T.contiguous(), ids.transpose(1, 2).contiguous())


@_input(
    "attention_mask",
    "decoder_attention_mask",
    "classes_attention_mask",
    "tasks_attention_mask",
    "qformer_attention_mask",
)
def _attention_mask(sizes: Sizes) -> Iterator[Any]:
    for ids in _input_ids(sizes):
        yield torch.ones(ids.shape[:2], dtype=torch.int64)


@_input("decoder_input_ids")
def _decoder_input_ids(sizes: Sizes) -> Iterator[Any]:
    yield sizes.text_ids(_TOKENS // 2 if sizes.length is None else sizes.length)


@_input("qformer_input_ids", "classes_input_ids", "tasks_input_ids")
def _other_ids(sizes: Sizes) -> Iterator[Any]:
    yield torch.randint(4, 1000, (1, _TOKENS))


@_input("classes_structure")
def _classes_structure(_sizes: Sizes) -> Iterator[Any]:
    yield torch.tensor([1])


@_input("task_inputs")
def _task_inputs(sizes: Sizes) -> Iterator[Any]:
    yield torch.randint(4, 1000, (1, sizes.first(sizes.config, "task_seq_len", default=77)))


@_input("bbox")
def _bbox(sizes: Sizes) -> Iterator[Any]:
    for ids in _input_ids(sizes):
        corner = torch.randint(0, 500, (*ids.shape[:2], 2))
        yield torch.cat([corner, corner + torch.randint(1, 400, corner.shape)], dim=-1)


@_input("token_type_ids")
def _token_type_ids(sizes: Sizes) -> Iterator[Any]:
    types = getattr(sizes.text, "type_vocab_sizes", None)
    for ids in _input_ids(sizes):
        shape = ids.shape[:2] if types is None else (*ids.shape[:2], len(types))
        yield torch.zeros(shape, dtype=torch.int64)


@_input("pixel_values", "image", "pixel_values_local", "prompt_pixel_values", "high_res_pixel_values")
def _pixel_values(sizes: Sizes) -> Iterator[Any]:
    if "image_grid_thw" in sizes.known or "grid_thw" in sizes.known:
        yield sizes.flat_patches()
    if sizes.known & {"spatial_shapes", "image_position_ids", "pixel_position_ids", "target_sizes"}:
        yield sizes.flat_patches()[None]
        # Patches in one row.
        _, rows, columns = sizes.grid()
        yield torch.randn(1, sizes.channels, sizes.patch, rows * columns * sizes.patch)
    images = [torch.randn(1, sizes.channels, *size) for size in sizes.image_sizes()]
    deep = sizes.known & {"image_sizes", "pixel_attention_mask", "aspect_ratio_ids", "num_frames"}
    frames = sizes.first(sizes.vision, "num_frames", default=0)
    if isinstance(frames, int) and frames:
        yield torch.randn(1, frames, *images[0].shape[1:])
    yield from (image[None].repeat(1, sizes.tiles, 1, 1, 1) for image in images[:1] if deep)
    yield from images
    yield images[0][None]
    # Two images, for models that compare images.
    yield images[0][None].repeat(1, 2, 1, 1, 1)


@_input("pixel_values_videos")
def _pixel_values_videos(sizes: Sizes) -> Iterator[Any]:
    frames = sizes.first(sizes.vision, "num_frames", "frames_per_clip", default=_FRAMES)
    for size in sizes.image_sizes():
        yield torch.randn(1, frames if isinstance(frames, int) else _FRAMES, sizes.channels, *size)


@_input("hidden_states")
def _hidden_states(sizes: Sizes) -> Iterator[Any]:
    if "grid_thw" in sizes.known:
        yield sizes.flat_patches()
    width = sizes.first(sizes.config, "hidden_size", "d_model", default=64)
    if isinstance(width, int):
        yield torch.randn(1, _TOKENS, width)


@_input("grid_thw", "image_grid_thw")
def _grid(sizes: Sizes) -> Iterator[Any]:
    yield torch.tensor([sizes.grid()])


@_input("merge_sizes")
def _merge_sizes(sizes: Sizes) -> Iterator[Any]:
    yield torch.tensor([2])


@_input("spatial_shapes", "target_sizes")
def _spatial_shapes(sizes: Sizes) -> Iterator[Any]:
    yield torch.tensor([sizes.grid()[1:]])


@_input("image_position_ids", "pixel_position_ids")
def _positions(sizes: Sizes) -> Iterator[Any]:
    _, rows, columns = sizes.grid()
    yield torch.cartesian_prod(torch.arange(rows), torch.arange(columns))[None]


@_input("pixel_attention_mask", "pixel_mask", "prompt_masks")
def _pixel_mask(sizes: Sizes) -> Iterator[Any]:
    for image in _pixel_values(sizes):
        if image.dim() == 3:
            yield torch.ones(image.shape[:2], dtype=torch.int64)
        elif image.dim() >= 4:
            yield torch.ones((*image.shape[:-3], *image.shape[-2:]), dtype=torch.int64)


@_input("image_sizes")
def _image_sizes(sizes: Sizes) -> Iterator[Any]:
    yield from (torch.tensor([size]) for size in sizes.image_sizes())


@_input("flattened_patches")
def _flattened_patches(sizes: Sizes) -> Iterator[Any]:
    yield torch.cat(
        [torch.arange(1, 3).float().expand(1, _TOKENS, 2), torch.rand(1, _TOKENS, 3 * sizes.patch**2)], dim=-1
    )


@_input("input_values", "audio_values")
def _input_values(sizes: Sizes) -> Iterator[Any]:
    bins = sizes.first(sizes.audio, "num_mel_bins", default=0)
    frames = sizes.first(sizes.audio, "max_length", default=1024)
    if isinstance(bins, int) and bins and isinstance(frames, int):
        yield torch.randn(1, frames, bins)
    channels = sizes.first(sizes.audio, "audio_channels", "num_channels", default=1)
    yield torch.randn(1, _SAMPLES)
    yield torch.randn(1, channels if isinstance(channels, int) else 1, _SAMPLES)
    yield torch.randn(1, 1, _SAMPLES)
    yield torch.randint(4, sizes.vocabulary, (1, _TOKENS))


@_input("input_features", "audio_mel", "spectrogram")
def _input_features(sizes: Sizes) -> Iterator[Any]:
    positions = sizes.first(sizes.audio, "max_source_positions", default=None)
    if isinstance(positions, int):
        yield torch.randn(1, sizes.mels, 2 * positions)
    yield torch.randn(1, 200, sizes.mels)
    yield torch.randn(1, sizes.mels, 200)
    yield torch.randn(1, sizes.mels, 3000)
    side = sizes.first(sizes.audio, "spec_size", default=256)
    if isinstance(side, int):
        yield torch.randn(1, 1, 1001, sizes.first(sizes.audio, "num_mel_bins", default=64))
    yield torch.randn(sizes.mels, 200)


@_input("input_features_mask", "feature_attention_mask", "audio_mel_mask")
def _input_features_mask(sizes: Sizes) -> Iterator[Any]:
    for tensor in _input_features(sizes):
        lengths = [side for side in tensor.shape[1:] if side != sizes.mels]
        yield torch.ones((1, lengths[0] if lengths else 1), dtype=torch.bool)


@_input("past_values")
def _past_values(sizes: Sizes) -> Iterator[Any]:
    channels = sizes.first(sizes.config, "num_input_channels", "input_size", default=1)
    length = sizes.series_length
    if channels == 1 and "past_time_features" in sizes.known:
        yield torch.randn(2, length)
    yield torch.randn(2, length, channels)
    yield torch.randn(2, length)
    yield [torch.randn(length), torch.randn(length)]


@_input("past_observed_mask")
def _past_observed_mask(sizes: Sizes) -> Iterator[Any]:
    for values in _past_values(sizes):
        if isinstance(values, torch.Tensor):
            yield torch.ones_like(values)


@_input("past_time_features")
def _past_time_features(sizes: Sizes) -> Iterator[Any]:
    yield torch.randn(2, sizes.series_length, max(1, sizes.config.num_time_features))


@_input("future_time_features")
def _future_time_features(sizes: Sizes) -> Iterator[Any]:
    features = max(1, getattr(sizes.config, "num_time_features", 1))
    yield torch.randn(2, sizes.first(sizes.config, "prediction_length", default=24), features)


@_input("future_values")
def _future_values(sizes: Sizes) -> Iterator[Any]:
    if "past_time_features" in sizes.known:
        yield torch.randn(2, sizes.first(sizes.config, "prediction_length", default=24))


@_input("past_values_padding")
def _past_values_padding(sizes: Sizes) -> Iterator[Any]:
    yield torch.zeros(2, sizes.series_length, dtype=torch.int64)


@_input("freq")
def _freq(_sizes: Sizes) -> Iterator[Any]:
    yield torch.zeros(2, 1, dtype=torch.int64)


@_input("static_categorical_features")
def _static_categorical(sizes: Sizes) -> Iterator[Any]:
    if count := getattr(sizes.config, "num_static_categorical_features", 0):
        yield torch.zeros(2, count, dtype=torch.int64)


@_input("static_real_features")
def _static_real(sizes: Sizes) -> Iterator[Any]:
    if count := getattr(sizes.config, "num_static_real_features", 0):
        yield torch.randn(2, count)


@_input("states", "state")
def _states(sizes: Sizes) -> Iterator[Any]:
    yield torch.randn(1, _TOKENS, sizes.first(sizes.config, "state_dim", "max_state_dim", default=17))


@_input("actions")
def _actions(sizes: Sizes) -> Iterator[Any]:
    yield torch.randn(1, _TOKENS, sizes.first(sizes.config, "act_dim", default=4))


@_input("rewards", "returns_to_go")
def _rewards(_sizes: Sizes) -> Iterator[Any]:
    yield torch.randn(1, _TOKENS, 1)


@_input("timesteps")
def _timesteps(_sizes: Sizes) -> Iterator[Any]:
    yield torch.arange(_TOKENS)[None]


@_input("inputs_embeds", "latents", "action_embeds", "noise_embeds", "query_embeds", "context_hidden_states")
def _embeddings(sizes: Sizes) -> Iterator[Any]:
    # A policy model takes actions with the width of the transformer that denoises them.
    owners = [sizes.text, getattr(sizes.config, "dit_config", None)]
    for owner in owners:
        for field in ("hidden_size", "d_model", "dim", "embed_dim"):
            if isinstance(width := getattr(owner, field, None), int):
                yield torch.randn(1, _TOKENS, width)
                yield torch.randn(1, width, _TOKENS)


@_input("inputs")
def _perceiver_inputs(sizes: Sizes) -> Iterator[Any]:
    yield torch.randn(1, 64, sizes.first(sizes.config, "d_model", default=64))


@_input("input_points")
def _points(_sizes: Sizes) -> Iterator[Any]:
    yield torch.rand(1, 1, 2, 2) * 100


@_input("input_labels")
def _point_labels(_sizes: Sizes) -> Iterator[Any]:
    yield torch.ones(1, 1, 2, dtype=torch.int64)
