"""The whole circle with real parts: the teacher's trajectories, fine-tuning, a checkpoint, a server, an author."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TASK = "gpt2-gelu-tanh"
MISSING = [name for name in ("trl", "datasets", "transformers") if importlib.util.find_spec(name) is None]
QUICK = ["--filter", TASK, "--graphs-per-task", "1", "--trials", "10", "--warmup", "2", "--paths", "direct"]

TEMPLATE = """{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\
{% for c in m.tool_calls or [] %}<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments }}}</tool_call>\
{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


def passnet(*arguments):
    found = os.environ.get("PASSNET_BINARY") or ROOT / "target/debug/passnet"
    if not Path(found).exists():
        pytest.skip("there is no passnet command; build it or set PASSNET_BINARY")
    run = subprocess.run([str(found), *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout


def tiny_model(folder, texts):
    """A model of random weights and a tokenizer learnt from the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(1500, special_tokens=special, initial_alphabet=alphabet))
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    wrapped.chat_template = TEMPLATE
    wrapped.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(wrapped),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16384,
        eos_token_id=wrapped.eos_token_id,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")
def test_a_model_is_taught_served_and_run_as_an_author(tmp_path):
    taught, data = tmp_path / "taught", tmp_path / "train.jsonl"
    passnet("traj", "teach", "suites/demo", "--out", taught, *QUICK)
    passnet("traj", "export", taught, "--out", data)
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    assert [message["role"] for message in rows[0]["messages"]][:3] == ["system", "user", "assistant"]
    tiny_model(tmp_path / "tiny", [message["content"] for row in rows for message in row["messages"]])

    out = tmp_path / "sft"
    recipe = [sys.executable, "recipes/sft/train.py", "--model", tmp_path / "tiny", "--train", data, "--validation", ""]
    recipe += ["--out", out, "--bf16", "no", "--gradient-checkpointing", "no", "--max-steps", "8", "--batch", "1"]
    recipe += ["--learning-rate", "5e-3", "--min-learning-rate", "1e-3", "--epochs", "8", "--max-length", "8192"]
    run = subprocess.run(
        list(map(str, recipe)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert run.returncode == 0, run.stderr
    losses = json.loads((out / "losses.json").read_text())["losses"]
    assert losses[-1] < losses[0] - 0.5, losses

    server = subprocess.Popen(
        [sys.executable, "recipes/sft/serve.py", str(out), "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        url = server.stdout.readline().strip()
        flags = ["--base-url", url, "--steps", "2", "--max-tokens", "32", "--out", tmp_path / "run"]
        table = passnet("bench", "run", "suites/demo", "--author", "llm:sft", *flags, *QUICK)
        assert "llm:sft" in table
        (trajectory,) = map(json.loads, (tmp_path / "run/agent/trajectories.jsonl").read_text().splitlines())
        assert trajectory["usage"]["output"] > 0
        assert trajectory["messages"][2]["role"] == "assistant"
    finally:
        server.kill()
        server.wait()
