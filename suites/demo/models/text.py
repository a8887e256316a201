"""Language models of the demo suite: small configurations of the usual architectures, with attention written out."""

import torch
import transformers

_VOCABULARY = 1000
_COMMON = {"vocab_size": _VOCABULARY, "attn_implementation": "eager"}


def _tokens(batch, size):
    return torch.randint(3, _VOCABULARY, (batch, size))


def _padded(batch, size):
    """Token ids and a mask whose rows end at different lengths."""
    lengths = size - torch.arange(batch) % 4 * (size // 8)
    return {"input_ids": _tokens(batch, size), "attention_mask": (torch.arange(size) < lengths[:, None]).long()}


def _encoder(**overrides):
    shape = {"hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 1024}
    return {**_COMMON, **shape, **overrides}


def bert(batch=2, size=64):
    return transformers.BertModel(transformers.BertConfig(**_encoder())), (), _padded(batch, size)


def roberta(batch=2, size=64):
    """RoBERTa: its position ids are computed from the padding by a cumulative sum.

    Few distinct tokens: where inputs are made again from their range, padding (1) is then among them.
    """
    tokens = torch.randint(1, 9, (batch, size))
    return transformers.RobertaModel(transformers.RobertaConfig(**_encoder())), (), {"input_ids": tokens}


def gpt2(batch=2, size=64):
    config = transformers.GPT2Config(**_COMMON, n_embd=256, n_layer=2, n_head=4, use_cache=False)
    return transformers.GPT2Model(config), (_tokens(batch, size),)


def llama(batch=2, size=64):
    config = transformers.LlamaConfig(**_encoder(num_key_value_heads=2, use_cache=False))
    return transformers.LlamaModel(config), (_tokens(batch, size),)


def gemma(batch=2, size=64):
    config = transformers.GemmaConfig(**_encoder(num_key_value_heads=1, head_dim=64, use_cache=False))
    return transformers.GemmaModel(config), (_tokens(batch, size),)


def t5(batch=2, size=64):
    config = transformers.T5Config(
        **_COMMON, d_model=256, d_kv=64, d_ff=1024, num_layers=2, num_heads=4, use_cache=False
    )
    return transformers.T5EncoderModel(config), (_tokens(batch, size),)
