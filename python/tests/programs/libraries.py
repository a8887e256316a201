"""Small models of transformers, timm and torchvision, used as their users do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from programs import Compile

_IDS = torch.tensor([[3, 5, 7, 9, 2], [4, 6, 8, 0, 0]])
_MASK = (_IDS != 0).long()


def _bert() -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=12, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    )
    torch.manual_seed(1)
    return transformers.BertForSequenceClassification(config)


def _llama(**changes: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=12, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=32, **changes,
    )  # fmt: skip
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(config)


def classifier_with_masks(compiled: Compile) -> Iterator[Any]:
    model = _bert().eval()
    call = compiled(model)
    with torch.no_grad():
        for _ in range(2):
            result = call(input_ids=_IDS, attention_mask=_MASK, output_hidden_states=True)
            yield type(result).__name__, list(result), result.logits, result["hidden_states"], result[0]
            yield call(_IDS, attention_mask=_MASK, return_dict=False)
            yield call(_IDS, attention_mask=_MASK.bool(), labels=torch.tensor([0, 1])).loss
        yield call(inputs_embeds=torch.ones(1, 3, 8)).logits


def classifier_is_trained(compiled: Compile) -> Iterator[Any]:
    model = _bert().train()
    call = compiled(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(3)
    for _ in range(3):
        optimiser.zero_grad()
        loss = call(_IDS, attention_mask=_MASK, labels=torch.tensor([0, 1])).loss
        loss.backward()
        optimiser.step()
        yield loss.item(), model.classifier.weight.grad, model.bert.embeddings.word_embeddings.weight.grad
    yield torch.rand(1)


def text_is_generated(compiled: Compile) -> Iterator[Any]:
    model = _llama().eval()
    call = compiled(model)
    for options in ({}, {"cache_implementation": "static"}, {"num_beams": 2}, {"use_cache": False}):
        yield call.generate(_IDS[:1], max_new_tokens=4, do_sample=False, pad_token_id=0, **options)
    torch.manual_seed(2)
    yield call.generate(_IDS[:1], max_new_tokens=4, do_sample=True, pad_token_id=0)


def cache_is_passed_on(compiled: Compile) -> Iterator[Any]:
    transformers = pytest.importorskip("transformers")
    model = _llama().eval()
    call = compiled(model)
    with torch.no_grad():
        for _ in range(2):
            cache = transformers.DynamicCache(config=model.config)
            for ids in (_IDS[:, :3], _IDS[:, 3:4], _IDS[:, 4:5]):
                result = call(ids, past_key_values=cache, use_cache=True)
                yield result.logits, cache.get_seq_length(), result.past_key_values is cache
            yield [layer.keys for layer in cache.layers]
            again = copy.deepcopy(cache)
            yield call(_IDS[:, :1], past_key_values=again).logits, again.get_seq_length(), cache.get_seq_length()


def model_in_bfloat16_with_checkpoints(compiled: Compile) -> Iterator[Any]:
    model = _llama(tie_word_embeddings=True).train()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    call = compiled(model)
    for _ in range(2):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = call(_IDS, attention_mask=_MASK, labels=_IDS, use_cache=False).loss
        loss.backward()
        yield round(loss.item(), 2), model.lm_head.weight is model.model.embed_tokens.weight
        yield torch.isfinite(model.lm_head.weight.grad).all()


def attention_is_changed(compiled: Compile) -> Iterator[Any]:
    model = _llama().eval()
    call = compiled(model)
    with torch.no_grad():
        for kind in ("sdpa", "eager", "sdpa"):
            model.set_attn_implementation(kind)
            yield call(_IDS, attention_mask=_MASK).logits
        model.resize_token_embeddings(15)
        yield call(_IDS).logits.shape
        yield call(_IDS).logits[..., :12]


def encoder_and_decoder(compiled: Compile) -> Iterator[Any]:
    transformers = pytest.importorskip("transformers")
    config = transformers.T5Config(
        vocab_size=12, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    torch.manual_seed(1)
    model = transformers.T5ForConditionalGeneration(config).eval()
    call = compiled(model)
    with torch.no_grad():
        states = model.get_encoder()(_IDS)
        for _ in range(2):
            result = call(encoder_outputs=states, decoder_input_ids=_IDS[:, :2])
            yield result.logits, result.encoder_last_hidden_state
            yield call(input_ids=_IDS, labels=_IDS).loss
    yield call.generate(_IDS, max_new_tokens=3, do_sample=False)


def images_and_features(compiled: Compile) -> Iterator[Any]:
    timm = pytest.importorskip("timm")
    torch.manual_seed(1)
    model = timm.models.VisionTransformer(img_size=16, patch_size=8, embed_dim=16, depth=2, num_heads=2, num_classes=3)
    call, x = compiled(model.eval()), torch.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
    with torch.no_grad():
        for _ in range(2):
            yield call(x)
            features = call.forward_features(x)
            yield features, call.forward_head(features, pre_logits=True)
            yield call.forward_intermediates(x, indices=1, intermediates_only=True)
        model.reset_classifier(0)
        yield call(x)
        yield call(x.to(memory_format=torch.channels_last))


def stochastic_depth(compiled: Compile) -> Iterator[Any]:
    timm = pytest.importorskip("timm")
    torch.manual_seed(1)
    model = timm.models.ConvNeXt(
        depths=(1, 1, 1, 1), dims=(4, 8, 8, 8), num_classes=3, drop_path_rate=0.5, drop_rate=0.2
    )
    call, x = compiled(model.train()), torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32)
    torch.manual_seed(5)
    for _ in range(3):
        model.zero_grad()
        result = call(x)
        result.sum().backward()
        yield result, model.head.fc.weight.grad
    yield torch.rand(1)


def boxes(compiled: Compile) -> Iterator[Any]:
    ops = pytest.importorskip("torchvision.ops")

    def function(boxes: list[torch.Tensor], features: torch.Tensor) -> list[dict[str, torch.Tensor]]:
        results = []
        for group, image in zip(boxes, features, strict=True):
            scores = torch.sigmoid(group.sum(-1))
            kept = ops.nms(group, scores, 0.5)
            regions = ops.roi_align(image[None], [group[kept]], output_size=2, aligned=True)
            results.append({"boxes": group[kept], "scores": scores[kept], "regions": torch.relu(regions) * 2})
        return results

    call = compiled(function)
    features = torch.linspace(-1, 1, 2 * 2 * 6 * 6).reshape(2, 2, 6, 6)
    first = torch.tensor([[0.0, 0, 3, 3], [0, 0, 3, 2.9], [2, 2, 5, 5]])
    for second in (first[:1], first[:0], first * 0.5):
        yield call([first, second], features)


def auxiliary_results(compiled: Compile) -> Iterator[Any]:
    models = pytest.importorskip("torchvision.models")
    torch.manual_seed(1)
    model = models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=2)
    call, x = compiled(model), torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            result = call(x)
            yield type(result).__name__, result
