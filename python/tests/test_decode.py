"""Decoding steps with a cache, and lengths of texts, of tiny Transformers models."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from passnet import _zoo
from passnet._capture import replay
from passnet._capture.capture import capture, extract
from passnet._zoo import decode
from passnet._zoo.recipe import Call

TINY = "num_hidden_layers=2&hidden_size=32&num_attention_heads=2&intermediate_size=64&vocab_size=99"
MODELS = {
    "gpt2": "n_layer=2&n_embd=32&n_head=2&vocab_size=99",
    "llama": TINY,
    "gemma2": f"{TINY}&num_key_value_heads=2&head_dim=16",
    "opt": "num_hidden_layers=2&hidden_size=32&word_embed_proj_dim=32&num_attention_heads=2&ffn_dim=64&vocab_size=99",
    "t5": "num_layers=2&d_model=32&d_kv=16&d_ff=32&num_heads=2&vocab_size=99",
}


def built(spec: str) -> tuple[_zoo.Recipe, _zoo.BuiltModel]:
    (recipe,) = _zoo.resolve(spec)
    return recipe, recipe.build(_zoo.BuildOptions(1e9))


def prompt_of(made: _zoo.BuiltModel) -> Call:
    return next(iter(made.calls))


@pytest.mark.parametrize("name", MODELS)
def test_a_step_reads_one_token_and_the_cache_and_gives_what_the_whole_text_gives(name, tmp_path):
    recipe, made = built(f"transformers:{name}?{MODELS[name]}@mode=decode&length=12&batch=3")
    assert recipe.name.endswith("-batch3-length12-decode")
    prompt = prompt_of(made)
    text = "decoder_input_ids" if name == "t5" else "input_ids"
    assert prompt.kwargs[text].shape == (3, 12)
    call = recipe.next_call(made.model, prompt)
    assert call.kwargs[text].shape == (3, 1)

    # The whole text in one call gives the same for its last token.
    whole = {**prompt.kwargs, text: torch.cat([prompt.kwargs[text], call.kwargs[text]], dim=1)}
    if name != "t5":
        whole["attention_mask"] = torch.ones_like(whole["input_ids"])
    if "token_type_ids" in whole:
        whole["token_type_ids"] = torch.zeros_like(whole["input_ids"])
    (graph,) = capture(made.model, (), call.kwargs)
    with torch.no_grad():
        expected = made.model(**whole).last_hidden_state[:, -1:]
        results = graph.module(*graph.inputs)
    torch.testing.assert_close(results[-1], expected, atol=1e-4, rtol=1e-4)

    inputs = [node.target for node in graph.module.graph.find_nodes(op="placeholder")]
    cached = [name for name in inputs if name.endswith(("keys", "values"))]
    assert len(cached) == (8 if name == "t5" else 4)
    (folder,) = extract(made.model, out=tmp_path, name="step", **call.kwargs)
    assert replay.check(folder, replay.expected_outputs(graph.module.graph))


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (f"bert?{TINY}", "returns no cache"),
        (f"vit?{TINY}&image_size=32", "reads no text"),
    ],
)
def test_models_without_a_decoding_step_say_so(spec, reason):
    recipe, made = built(f"transformers:{spec}@mode=decode")
    with pytest.raises(_zoo.SpecError, match=reason):
        recipe.next_call(made.model, prompt_of(made))


def test_earlier_names_of_the_cache_are_known():
    class Model(torch.nn.Module):
        def forward(self, input_ids, past_key_values=None, use_cache=False, cache_position=None):
            return type("Result", (), {"past_key_values": input_ids.float()})

    call = decode.next_call(Model(), Call("text", (), {"input_ids": torch.ones(2, 5, dtype=torch.int64)}))
    assert call.kwargs["past_key_values"].shape == (2, 5) and call.kwargs["cache_position"].tolist() == [5]


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (f"bert?{TINY}", ("input_ids", "attention_mask")),
        (f"t5?{MODELS['t5']}", ("input_ids", "attention_mask", "decoder_input_ids")),
        (f"bert/BertForMultipleChoice?{TINY}", ("input_ids",)),
    ],
)
def test_a_text_has_the_given_length(spec, names):
    _, made = built(f"transformers:{spec}@length=48")
    call = prompt_of(made)
    assert all(call.kwargs[name].shape[-1] == 48 for name in names)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (f"bert?{TINY}&max_position_embeddings=40@length=48", "positions for 40 tokens"),
        (f"roberta?{TINY}&max_position_embeddings=40@length=39", "positions for 38 tokens"),
        (f"vit?{TINY}&image_size=32@length=48", "reads no text"),
    ],
)
def test_models_without_such_a_text_say_so(spec, reason):
    _, made = built(f"transformers:{spec}")
    with pytest.raises(_zoo.SpecError, match=reason):
        prompt_of(made)
