"""diffusers: denoisers and autoencoders, smaller than the published ones, on one small latent or image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import diffusers
import torch

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, by_name

_BLOCKS = ("DownBlock2D", "AttnDownBlock2D"), ("AttnUpBlock2D", "UpBlock2D")


def _step() -> torch.Tensor:
    return torch.tensor([10])


def _text(length: int, width: int) -> torch.Tensor:
    return torch.randn(1, length, width)


_Inputs = Callable[[], dict[str, Any]]

# For each model: class, fields of the configuration, inputs. All other fields have the defaults of the class.
_MODELS: dict[str, tuple[str, dict[str, Any], _Inputs]] = {
    "unet2d": (
        "UNet2DModel",
        {
            "sample_size": 32,
            "block_out_channels": (64, 128),
            "down_block_types": _BLOCKS[0],
            "up_block_types": _BLOCKS[1],
        },
        lambda: {"sample": torch.randn(1, 3, 32, 32), "timestep": _step()},
    ),
    "unet2d-condition": (
        "UNet2DConditionModel",
        {"sample_size": 32, "block_out_channels": (64, 128, 256, 256), "cross_attention_dim": 256},
        lambda: {"sample": torch.randn(1, 4, 32, 32), "timestep": _step(), "encoder_hidden_states": _text(77, 256)},
    ),
    "autoencoder-kl": (
        "AutoencoderKL",
        {
            "block_out_channels": (64, 128),
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
        },
        lambda: {"sample": torch.randn(1, 3, 64, 64)},
    ),
    "autoencoder-tiny": ("AutoencoderTiny", {}, lambda: {"sample": torch.randn(1, 3, 128, 128)}),
    "dit": (
        "DiTTransformer2DModel",
        {"num_layers": 4, "sample_size": 16, "num_attention_heads": 8, "attention_head_dim": 48},
        lambda: {"hidden_states": torch.randn(1, 4, 16, 16), "timestep": _step(), "class_labels": torch.tensor([1])},
    ),
    "pixart": (
        "PixArtTransformer2DModel",
        {
            "num_layers": 4,
            "sample_size": 32,
            "num_attention_heads": 8,
            "attention_head_dim": 48,
            "cross_attention_dim": 384,
            "caption_channels": 512,
        },
        lambda: {
            "hidden_states": torch.randn(1, 4, 32, 32),
            "encoder_hidden_states": _text(64, 512),
            "timestep": _step(),
            "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
        },
    ),
    "sd3": (
        "SD3Transformer2DModel",
        {"num_layers": 4, "num_attention_heads": 8, "caption_projection_dim": 512, "sample_size": 32},
        lambda: {
            "hidden_states": torch.randn(1, 16, 32, 32),
            "encoder_hidden_states": _text(77, 4096),
            "pooled_projections": torch.randn(1, 2048),
            "timestep": _step(),
        },
    ),
    "transformer2d": (
        "Transformer2DModel",
        {
            "num_attention_heads": 8,
            "attention_head_dim": 32,
            "in_channels": 256,
            "num_layers": 4,
            "norm_num_groups": 32,
        },
        lambda: {"hidden_states": torch.randn(1, 256, 16, 16)},
    ),
    "vq": (
        "VQModel",
        {
            "block_out_channels": (64, 128),
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
        },
        lambda: {"sample": torch.randn(1, 3, 64, 64)},
    ),
}


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name matches `pattern`."""
    return by_name(spec, "diffusers", pattern, list(_MODELS), _build, "computer_vision")


def _build(name: str, _options: BuildOptions) -> BuiltModel:
    kind, configuration, inputs = _MODELS[name]
    model = getattr(diffusers, kind)(**configuration)
    metadata = {"model_class": kind, "configuration": configuration}
    return BuiltModel(model, [Call("diffusion", (), inputs())], metadata)
