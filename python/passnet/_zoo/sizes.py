"""Sizes of inputs, read from the configurations of Transformers models."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import torch

# Largest height and width in pixels of an image if the model does not specify the size.
_IMAGE = 224
# Number of tokens of a text.
_TOKENS = 32


class Sizes:
    """Sizes of inputs, from a configuration and the configurations inside it."""

    def __init__(self, config: Any, known: set[str], length: int | None = None) -> None:
        self.config = config
        self.known = known
        self.length = length
        self.text = config.get_text_config() if hasattr(config, "get_text_config") else config
        self.vision = self._part(
            "vision_config", "visual_config", "vit_config", "image_encoder_config", "backbone_config"
        )
        self.audio = self._part("audio_config", "encoder_config", "audio_encoder_config", "encoder")
        # There is one image or audio sample, and the batch sizes of other inputs have to match.
        self.batch = 1 if known & {"pixel_values", "input_features", "input_values"} else 2

    def _part(self, *names: str) -> Any:
        for owner in (self.config, getattr(self.config, "thinker_config", None)):
            for name in names:
                part = getattr(owner, name, None)
                if hasattr(part, "to_dict"):
                    return part
        return self.config

    def first(self, owner: Any, *names: str, default: Any) -> Any:
        """Returns the value of the first of these fields that `owner` has; if it has none, the first that the whole configuration has."""
        for source in (owner, self.config):
            for name in names:
                if (value := getattr(source, name, None)) is not None and value != []:
                    return value
        return default

    @property
    def vocabulary(self) -> int:
        value = self.first(
            self.text, "vocab_size", "text_vocab_size", "input_vocab_size", "vocabulary_size", default=256
        )
        return value if isinstance(value, int) else 256

    @property
    def tokens(self) -> int:
        """Returns the number of tokens of a text whose model does not limit it."""
        return _TOKENS if self.length is None else self.length

    @property
    def positions(self) -> int:
        """Returns the largest number of tokens of a text."""
        value = self.first(self.text, "max_position_embeddings", "n_positions", default=None)
        return value if isinstance(value, int) and value > 0 else sys.maxsize

    def text_lengths(self) -> list[int]:
        """Returns candidate numbers of tokens of a text."""
        if self.length is not None:
            return [self.length]
        limit = min(self.positions, 4096)
        return [length for length in (min(limit, _TOKENS), 128, 512, 1024, 4096) if length <= limit]

    def special_tokens(self) -> set[int]:
        """Returns the tokens with a special meaning, which a random text should not contain."""
        owners = [self.config, self.text]
        fields = [
            item for owner in owners for item in vars(owner).items() if item[0].endswith(("token_id", "token_index"))
        ]
        return {value for _, value in fields if isinstance(value, int)}

    def text_ids(self, length: int) -> torch.Tensor:
        special = self.special_tokens()
        plain = next(token for token in range(self.vocabulary - 1, -1, -1) if token not in special)
        ids = torch.randint(min(4, plain), max(plain, 5), (1 if self.batch == 1 else 2, length))
        for token in special:
            ids[ids == token] = plain
        end = getattr(self.text, "eos_token_id", None)
        if getattr(self.config, "is_encoder_decoder", False) and isinstance(end, int) and 0 <= end < self.vocabulary:
            ids[:, -1] = end
        return ids

    def placeholder_token(self, kind: str) -> int | None:
        """Returns the token that represents a feature of an image or of audio; None if there is none."""
        token = self.first(self.config, f"{kind}_token_id", f"{kind}_token_index", f"{kind}_token", default=None)
        return token if isinstance(token, int) and 0 <= token < self.vocabulary else None

    def image_sizes(self) -> Iterator[tuple[int, int]]:
        """Yields candidate heights and widths, those of the configuration first."""
        size = self.first(self.vision, "image_size", "img_size", "pretrain_image_size", "input_size", default=None)
        if isinstance(size, dict):
            size = [size.get("height", _IMAGE), size.get("width", _IMAGE)]
        if isinstance(size, int):
            size = [size, size]
        if isinstance(size, list | tuple) and len(size) >= 2 and all(isinstance(side, int) for side in size):
            yield (size[-2], size[-1])
        for side in (_IMAGE, 256, 384, 512, 640, 1024):
            yield (side, side)

    @property
    def tiles(self) -> int:
        """Returns the number of tiles of an image: the whole image, plus the cells of the first grid if the configuration has grids."""
        grids = self.first(self.config, "image_grid_pinpoints", default=None)
        if not isinstance(grids, list):
            return 2
        side = next(self.image_sizes())
        return 1 + math.ceil(grids[0][0] / side[0]) * math.ceil(grids[0][1] / side[1])

    @property
    def channels(self) -> int:
        value = self.first(self.vision, "num_channels", "in_channels", "in_chans", "num_image_channels", default=3)
        return value if isinstance(value, int) else 3

    @property
    def patch(self) -> int:
        size = self.first(self.vision, "patch_size", default=16)
        return size[-1] if isinstance(size, list | tuple) else size if isinstance(size, int) else 16

    def grid(self) -> tuple[int, int, int]:
        """Returns the numbers of frames, rows and columns of patches of one small image."""
        merge = self.first(self.vision, "spatial_merge_size", "merge_size", default=2)
        side = 4 * (merge if isinstance(merge, int) else 2)
        return 1, side, side

    def flat_patches(self) -> torch.Tensor:
        frames, rows, columns = self.grid()
        temporal = self.first(self.vision, "temporal_patch_size", default=1)
        temporal = temporal if isinstance(temporal, int) else 1
        return torch.randn(frames * rows * columns, self.channels * temporal * self.patch**2)

    @property
    def mels(self) -> int:
        names = (
            "num_mel_bins",
            "n_mels",
            "feature_size",
            "input_feat_size",
            "input_dim",
            "num_mels",
            "input_feat_per_channel",
        )
        value = self.first(self.audio, *names, "feature_projection_input_dim", default=80)
        return value if isinstance(value, int) else 80

    @property
    def series_length(self) -> int:
        lags = self.first(self.config, "lags_sequence", default=[0])
        length = self.first(self.config, "context_length", "prediction_length", default=64)
        return length + (max(lags) if isinstance(lags, list | tuple) else 0)
