"""All steps of the recipe: the teacher's trajectories, fine-tuning, a checkpoint, a server, an author."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from agent_command import ONE_GRAPH, QUICK, ROOT, passnet

MISSING = [name for name in ("trl", "datasets", "transformers") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")

# Says in the template itself what the model has said, which is how TRL finds it.
TEMPLATE = """{% for m in messages %}<|{{ m.role }}|>\
{% if m.role == "assistant" %}{% generation %}{{ m.content }}{% for c in m.tool_calls or [] %}\
<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments }}}</tool_call>\
{% endfor %}<|end|>{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}\
{% if add_generation_prompt %}<|assistant|>{% endif %}"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """One of the teacher's trajectories exported, and a tiny model: `train.jsonl`, `train.parquet`, `tiny/`."""
    folder = tmp_path_factory.mktemp("sft")
    passnet("traj", "teach", "suites/demo", "--style", "plain", "--out", folder / "taught", *ONE_GRAPH, *QUICK)
    # A tiny model learns one by heart in a few steps, not several.
    one = folder / "one.jsonl"
    one.write_text((folder / "taught/trajectories.jsonl").read_text().splitlines()[-1])
    passnet("traj", "export", one, "--out", folder / "train.jsonl")
    passnet("traj", "export", one, "--format", "sharegpt", "--out", folder / "sharegpt.jsonl")
    passnet("traj", "export", one, "--format", "parquet", "--out", folder / "train.parquet")
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    tiny_model(folder / "tiny", [message["content"] for row in rows for message in row["messages"]])
    return folder


def tiny_model(folder, texts):
    """A model of random weights and a tokenizer learnt from the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=3000, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    wrapped.chat_template = TEMPLATE
    wrapped.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(wrapped),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=16384,
        eos_token_id=wrapped.eos_token_id,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def recipe(name="train"):
    """Loads a module of `recipes/sft`."""
    spec = importlib.util.spec_from_file_location(f"sft_{name}", ROOT / f"recipes/sft/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_configuration_names_exports_and_raw_trajectories_are_refused(work):
    config = json.loads((ROOT / "recipes/sft/config.json").read_text())
    readme = (ROOT / "recipes/sft/README.md").read_text()
    for name in ("train", "validation"):
        assert f"--out {config[name]}" in readme, "the steps write what the configuration names"
    raw = work / "taught/trajectories.jsonl"
    for train, validation in [(raw, ""), (work / "train.jsonl", raw)]:
        command = [sys.executable, "recipes/sft/train.py", "--model", work / "tiny", "--out", work / "unused"]
        command += ["--train", train, "--validation", validation]
        run = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)
        assert run.returncode == 1 and "passnet traj export" in run.stderr and "Traceback" not in run.stderr


def test_calls_in_a_reply_are_split_from_the_text():
    split = recipe("serve").split_calls
    call = '<tool_call>\n{"name": "graph_info", "arguments": {"graph": "000"}}\n</tool_call>'
    text, (first, second) = split(f"I look.\n{call}\n{call}")
    assert (text, first["function"]) == ("I look.", {"name": "graph_info", "arguments": '{"graph": "000"}'})
    assert first["id"] != second["id"]
    for other in ("no call", "<tool_call>not JSON</tool_call>", '<tool_call>{"a": 1}</tool_call>'):
        assert split(other) == (other, [])


def test_exports_load_in_datasets(work):
    from datasets import load_dataset

    def load(kind, name):
        return load_dataset(kind, data_files=str(work / name), split="train", cache_dir=str(work / "cache"))

    chat, table, sharegpt = (
        load("json", "train.jsonl"),
        load("parquet", "train.parquet"),
        load("json", "sharegpt.jsonl"),
    )
    (row,) = chat
    assert [message["role"] for message in row["messages"]][:4] == ["system", "user", "assistant", "tool"]
    assert {tool["function"]["name"] for tool in json.loads(row["tools"])} >= {"file_editor", "pass_evaluator"}
    assert row["loss_mask"] == [int(message["role"] == "assistant") for message in row["messages"]]
    assert row["style"] in ("plain", "tuned")
    assert [turn["loss"] for turn in sharegpt[0]["conversations"]] == [bool(mask) for mask in row["loss_mask"]]
    assert json.loads(table[0]["record"])["id"] == row["id"] == table[0]["id"] == sharegpt[0]["id"]


def test_trl_takes_an_export_unchanged_and_learns_from_what_the_mask_names(work):
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import SFTConfig, SFTTrainer

    data = load_dataset("json", data_files=str(work / "train.jsonl"), split="train", cache_dir=str(work / "cache"))
    tokenizer = AutoTokenizer.from_pretrained(work / "tiny")
    settings = SFTConfig(
        output_dir=str(work / "unused"), assistant_only_loss=True, max_length=1 << 14, report_to=[], bf16=False
    )
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(work / "tiny"),
        args=settings,
        train_dataset=data,
        processing_class=tokenizer,
    )
    prepared = trainer.train_dataset[0]
    ours = recipe().tokens_of(tokenizer, data[0], 1 << 14)

    def learnt(row):
        return tokenizer.decode([label for label in row["labels"] if label >= 0])

    assert learnt(prepared) == learnt(ours)
    assert learnt(ours).startswith(data[0]["messages"][2]["content"])
    assert data[0]["messages"][0]["content"][:200] not in learnt(ours)

    # A reply with a mistake is read and not learnt.
    first = next(index for index, mask in enumerate(data[0]["loss_mask"]) if mask)
    mask = [0 if index == first else mask for index, mask in enumerate(data[0]["loss_mask"])]
    masked = recipe().tokens_of(tokenizer, {**data[0], "loss_mask": mask}, 1 << 14)
    said = data[0]["messages"][first]["content"]
    assert said in tokenizer.decode(masked["input_ids"]) and said not in learnt(masked) != ""


@pytest.mark.long
def test_a_model_is_taught_served_and_run_as_an_author(work):
    out = work / "out"
    command = [sys.executable, "recipes/sft/train.py", "--model", work / "tiny", "--train", work / "train.jsonl"]
    command += [
        "--validation",
        work / "train.jsonl",
        "--out",
        out,
        "--bf16",
        "no",
        "--gradient-checkpointing",
        "no",
        "--batch",
        "1",
    ]
    command += ["--max-steps", "12", "--epochs", "12", "--max-length", "4096"]
    command += ["--learning-rate", "1e-2", "--min-learning-rate", "5e-3"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, env=environment)
    assert run.returncode == 0, run.stderr
    losses = json.loads((out / "losses.json").read_text())["losses"]
    assert losses[-1] < losses[0] - 0.5, losses

    server = subprocess.Popen(
        [sys.executable, "recipes/sft/serve.py", str(out), "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        url = server.stdout.readline().strip()
        flags = ["--base-url", url, "--steps", "2", "--max-tokens", "32", "--out", work / "run"]
        table = passnet("bench", "run", "suites/demo", "--author", "llm:sft", *flags, *ONE_GRAPH, *QUICK)
        assert "llm:sft" in table
        (trajectory,) = map(json.loads, (work / "run/agent/trajectories.jsonl").read_text().splitlines())
        assert trajectory["usage"]["output"] > 0
        assert trajectory["messages"][2]["role"] == "assistant"
    finally:
        server.kill()
        server.wait()


def test_low_rank_adapters_are_trained(work):
    if importlib.util.find_spec("peft") is None:
        pytest.skip("needs peft")
    out = work / "adapter"
    command = [sys.executable, "recipes/sft/train.py", "--model", work / "tiny", "--train", work / "train.jsonl"]
    command += ["--validation", "", "--out", out, "--bf16", "no", "--gradient-checkpointing", "no", "--lora-rank", "4"]
    command += ["--batch", "1", "--max-steps", "2", "--max-length", "2048"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, env=environment)
    assert run.returncode == 0, run.stderr
    assert json.loads((out / "adapter_config.json").read_text())["r"] == 4
    assert not (out / "model.safetensors").exists(), "the weights of the model stay where they are"
