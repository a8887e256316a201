"""torchaudio: audio models, on one second of audio or on a spectrogram."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torchaudio import models

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, by_name


def _wave(channels: int | None = None) -> Callable[[], tuple[Any, ...]]:
    shape = (1, 16_000) if channels is None else (1, channels, 16_000)
    return lambda: (torch.randn(shape),)


_MODELS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]] = {
    "conformer": (
        lambda: models.Conformer(
            input_dim=80, num_heads=4, ffn_dim=256, num_layers=4, depthwise_conv_kernel_size=31, dropout=0.1
        ),
        lambda: (torch.randn(1, 200, 80), torch.tensor([200])),
    ),
    "conv_tasnet_base": (models.conv_tasnet_base, _wave(1)),
    "deepspeech": (lambda: models.DeepSpeech(n_feature=128), lambda: (torch.randn(1, 1, 100, 128),)),
    "hdemucs_low": (
        lambda: models.hdemucs_low(["drums", "bass", "other", "vocals"]),
        lambda: (torch.randn(1, 2, 44_100),),
    ),
    "hubert_base": (models.hubert_base, _wave()),
    "squim_objective_base": (models.squim_objective_base, _wave()),
    "wav2letter": (lambda: models.Wav2Letter(num_classes=40, input_type="waveform", num_features=1), _wave(1)),
    "wav2vec2_base": (models.wav2vec2_base, _wave()),
    "wavlm_base": (models.wavlm_base, _wave()),
}


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name matches `pattern`."""
    return by_name(spec, "torchaudio", pattern, list(_MODELS), _build, "audio")


def _build(name: str, _options: BuildOptions) -> BuiltModel:
    model, inputs = _MODELS[name]
    return BuiltModel(model(), [Call("audio", inputs())])
