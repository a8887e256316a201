"""sentence_transformers: models that make a vector of a text, each a transformer, a pooling and further layers.

The transformer is built from its configuration, without a download. The library's own module for it reads the files of a tokenizer, so the
recipe calls the transformer as this module does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, SpecError, by_name, huggingface

try:
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling
except ImportError:
    # The place of the modules up to version 5.
    from sentence_transformers.models import Dense, Normalize, Pooling


@dataclasses.dataclass(frozen=True)
class _Parts:
    """The parts of a model: request for the transformer, how token vectors become one vector, and the layers after that."""

    transformer: str
    pooling: str = "mean"
    dense: int | None = None
    """Size of the result of a linear layer; None without such a layer."""
    activation: type[torch.nn.Module] = torch.nn.Tanh
    normalize: bool = True


_SMALL = "hidden_size=384&num_attention_heads=12&intermediate_size=1536&num_hidden_layers"
_ROBERTA = "vocab_size=50265&max_position_embeddings=514&type_vocab_size=1"

# Names of published models, with their configurations.
_MODELS: dict[str, _Parts] = {
    "LaBSE": _Parts("bert?vocab_size=501153", "cls", dense=768),
    "Qwen3-Embedding-0.6B": _Parts(
        "qwen3?hidden_size=1024&intermediate_size=3072&num_hidden_layers=28&num_attention_heads=16&num_key_value_heads=8"
        "&head_dim=128&vocab_size=151669",
        "lasttoken",
    ),
    "all-MiniLM-L12-v2": _Parts(f"bert?{_SMALL}=12"),
    "all-MiniLM-L6-v2": _Parts(f"bert?{_SMALL}=6"),
    "all-distilroberta-v1": _Parts(f"roberta?num_hidden_layers=6&{_ROBERTA}"),
    "all-mpnet-base-v2": _Parts("mpnet?vocab_size=30527&max_position_embeddings=514"),
    "all-roberta-large-v1": _Parts(
        f"roberta?hidden_size=1024&num_hidden_layers=24&num_attention_heads=16&intermediate_size=4096&{_ROBERTA}"
    ),
    "bge-small-en-v1.5": _Parts(f"bert?{_SMALL}=12", "cls"),
    "distiluse-base-multilingual-cased-v2": _Parts("distilbert?vocab_size=119547", dense=512, normalize=False),
    "e5-base-v2": _Parts("bert"),
    "gte-modernbert-base": _Parts("modernbert", "cls", normalize=False),
    "msmarco-distilbert-base-tas-b": _Parts("distilbert", "cls", normalize=False),
    "multi-qa-mpnet-base-dot-v1": _Parts("mpnet?vocab_size=30527&max_position_embeddings=514", "cls", normalize=False),
    "paraphrase-MiniLM-L3-v2": _Parts(f"bert?{_SMALL}=3", normalize=False),
    "paraphrase-multilingual-mpnet-base-v2": _Parts(
        "xlm-roberta?vocab_size=250002&max_position_embeddings=514&type_vocab_size=1", normalize=False
    ),
    "sentence-t5-base": _Parts(
        "t5/T5EncoderModel?d_model=768&d_ff=3072&num_layers=12&num_heads=12", dense=768, activation=torch.nn.Identity
    ),
}


class _Sentences(torch.nn.Module):
    """A transformer and the layers that make one vector of its result."""

    def __init__(self, transformer: torch.nn.Module, layers: list[torch.nn.Module]) -> None:
        super().__init__()
        self.transformer = transformer
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        features = {**inputs, "token_embeddings": self.transformer(**inputs).last_hidden_state}
        return self.layers(features)["sentence_embedding"]


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name matches `pattern`."""
    return by_name(spec, "sentence_transformers", pattern, list(_MODELS), _build, "nlp", ("length",))


def _build(name: str, options: BuildOptions) -> BuiltModel:
    parts = _MODELS[name]
    (recipe,) = huggingface.recipes(name, parts.transformer)
    built = recipe.build(options)
    transformer: Any = built.model
    call = next(iter(built.calls), None)
    if call is None:
        raise SpecError(f"no inputs are known for the transformer of `{name}`")
    width = transformer.config.hidden_size
    layers: list[torch.nn.Module] = [Pooling(width, pooling_mode=parts.pooling)]
    if parts.dense is not None:
        layers.append(Dense(width, parts.dense, activation_function=parts.activation()))
    if parts.normalize:
        layers.append(Normalize())
    model = _Sentences(transformer, layers).eval()
    return BuiltModel(
        model, [Call("text", (), call.kwargs)], {**built.metadata, "model_class": recipe.metadata["model_class"]}
    )
