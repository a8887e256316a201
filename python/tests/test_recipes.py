"""Recipes of each family of Transformers models, on tiny configurations."""

import pytest
import torch

pytest.importorskip("transformers")

import transformers

from passnet import _zoo
from passnet._capture.capture import capture
from passnet._zoo import inputs, reduce
from passnet._zoo.dry_run import objection

TINY = "num_hidden_layers=1&hidden_size=32&num_attention_heads=2&intermediate_size=64&vocab_size=99"
SEQ2SEQ = (
    "encoder_layers=1&decoder_layers=1&d_model=32&encoder_attention_heads=2&decoder_attention_heads=2"
    "&encoder_ffn_dim=64&decoder_ffn_dim=64"
)


@pytest.mark.parametrize(
    ("spec", "label", "names"),
    [
        (f"bert?{TINY}", "text", {"input_ids", "attention_mask", "token_type_ids"}),
        (f"layoutlm?{TINY}", "text", {"input_ids", "bbox"}),
        (f"vit?{TINY}&image_size=32", "vision", {"pixel_values"}),
        (f"bart?{SEQ2SEQ}&vocab_size=99", "text", {"input_ids", "decoder_input_ids"}),
        (f"whisper?{SEQ2SEQ}&vocab_size=51865", "audio", {"input_features", "decoder_input_ids"}),
        (f"wav2vec2?{TINY}&conv_dim=(8,8)&conv_stride=(5,2)&conv_kernel=(10,3)", "audio", {"input_values"}),
        (
            "time_series_transformer?prediction_length=4&context_length=8&d_model=16",
            "time series",
            {"past_values", "past_time_features", "past_observed_mask"},
        ),
        ("decision_transformer?n_layer=1&hidden_size=32&n_head=2", "trajectory", {"states", "timesteps"}),
    ],
)
def test_inputs_of_a_family(spec, label, names):
    built = build(spec)
    call = next(iter(built.calls))
    assert call.label == label and names <= call.kwargs.keys()
    with torch.no_grad():
        built.model(**call.kwargs)


@pytest.mark.long
def test_placeholders_of_an_image_are_as_many_as_its_features():
    text = {"model_type": "llama", **sizes(vocab_size=200)}
    vision = {"model_type": "clip_vision_model", **sizes(), "image_size": 28, "patch_size": 14}
    config = transformers.LlavaConfig(text_config=text, vision_config=vision, image_token_id=150)
    model = transformers.LlavaModel(config).eval()
    call = next(inputs.calls(model))
    assert call.label == "multimodal" and (call.kwargs["input_ids"] == 150).sum() == 4
    targets = [str(node.target) for graph in capture(model, (), call.kwargs) for node in graph.module.graph.nodes]
    assert any("conv2d" in target for target in targets) and any("embedding" in target for target in targets)


def test_a_configuration_shrinks_and_says_so():
    config = transformers.Qwen2Config(
        layer_types=["full_attention"] * 3 + ["sliding_attention"] + ["full_attention"] * 28
    )
    first, second, third, *_ = reduce.steps(config)
    assert first == (config, {}) and config.num_hidden_layers == 32
    shorter, changed = second
    assert shorter.num_hidden_layers == 4, "as many layers as it takes to have both kinds"
    assert changed["num_hidden_layers"] == [32, 4] and len(shorter.layer_types) == 4
    assert third[0].vocab_size == 32_768 and third[1]["vocab_size"][1] == 32_768
    *_, (narrow, changed) = reduce.steps(config)
    assert narrow.hidden_size < config.hidden_size
    assert narrow.hidden_size // narrow.num_attention_heads == config.hidden_size // config.num_attention_heads


def test_a_model_too_large_is_reduced_to_the_limit():
    built = build("llama", parameters=2e8)
    assert built.metadata["parameters"] <= 2e8
    assert built.metadata["reduced"]["num_hidden_layers"] == [32, 2]
    assert "reduced" not in build(f"llama?{TINY}").metadata


def test_classes_and_close_names():
    (recipe,) = _zoo.resolve("transformers:bert/BertForMaskedLM")
    assert recipe.name == "transformers/bert-BertForMaskedLM"
    assert len(list(_zoo.resolve("transformers:bert/*"))) > 5
    with pytest.raises(_zoo.SpecError, match="did you mean bert"):
        list(_zoo.resolve("transformers:brt"))
    with pytest.raises(_zoo.SpecError, match="it has BertModel"):
        list(_zoo.resolve("transformers:bert/Bort"))


def test_types_without_a_class_of_the_pattern_are_left_out():
    names = [recipe.name for recipe in _zoo.resolve("transformers:g*/*ForTokenClassification")]
    assert "transformers/gpt2-GPT2ForTokenClassification" in names
    assert all(name.endswith("ForTokenClassification") for name in names)
    with pytest.raises(_zoo.SpecError, match="model types has a class `\\*ForChess`"):
        list(_zoo.resolve("transformers:g*/*ForChess"))


@pytest.mark.parametrize(
    ("request_", "shape"),
    [
        # Ids of (batch, choices, tokens).
        ("bert/BertForMultipleChoice?" + TINY, (2, 2, 32)),
        # Two texts for a decoder whose configuration names no token for padding.
        ("gpt2/GPT2ForSequenceClassification?n_layer=1&n_embd=32&n_head=2", (2, 32)),
    ],
)
def test_heads_get_the_inputs_that_they_need(request_, shape):
    built = build(request_)
    call = next(iter(built.calls))
    assert tuple(call.kwargs["input_ids"].shape) == shape
    assert objection(built.model, call.kwargs) is None


def test_a_decoder_that_classifies_reads_the_text_itself():
    built = build("t5/T5ForSequenceClassification?num_layers=1&d_model=32&d_kv=16&d_ff=32&num_heads=2&vocab_size=99")
    call = next(iter(built.calls))
    assert torch.equal(call.kwargs["decoder_input_ids"], call.kwargs["input_ids"])
    built.model(**call.kwargs)


def test_sizes_that_the_default_configuration_leaves_open_are_derived():
    built = build(f"nemotron/NemotronForQuestionAnswering?{TINY}")
    assert built.metadata["completed"] == {"num_key_value_heads": 2}
    assert "completed" not in build(f"llama?{TINY}").metadata


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(_zoo.MissingLibraryError, match="pip install timm"):
        list(_zoo.resolve("timm:resnet18"))


def build(request: str, parameters: float = 1e9) -> _zoo.BuiltModel:
    (recipe,) = _zoo.resolve(f"transformers:{request}")
    return recipe.build(_zoo.BuildOptions(parameters))


def sizes(**others: int) -> dict[str, int]:
    return {
        "num_hidden_layers": 2,
        "hidden_size": 32,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "intermediate_size": 64,
        **others,
    }
