"""The GRPO recipe with a tiny model, with all weights and with adapters; the noise of the reward."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_command import ROOT, TASK, served
from tiny_model import tiny_model


def run(*arguments):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


@pytest.mark.parametrize("rank", [0, 4])
def test_the_recipe_trains(rank, tmp_path):
    for name in ["trl", "datasets", *(["peft"] if rank else [])]:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs the library {name}")
    import trl

    template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text()
    tiny_model(tmp_path / "tiny", ["You write optimization passes for computation graphs of PyTorch."], template)
    out = tmp_path / "out"
    with served("--steps", "3") as url:
        flags = ["--model", tmp_path / "tiny", "--urls", url, "--out", out, "--lora-rank", rank, "--bf16", "no"]
        flags += ["--gradient-checkpointing", "no", "--max-steps", 1, "--prompts-per-step", 1, "--generations", 2]
        done = run("recipes/grpo/train.py", *flags, "--max-completion-length", 16)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((out / "rewards.json").read_text())["rewards"] == [0.0]
    started, point = (json.loads(line) for line in (out / "curve.jsonl").read_text().splitlines()[:2])
    assert started == {"event": "started", "schema_version": 1, "name": "grpo"}
    assert point["event"] == "point" and point["step"] == 1 and point["reward"] == 0.0
    assert (out / ("adapter_config.json" if rank else "config.json")).exists()


@pytest.mark.long
def test_the_noise_of_the_reward_is_reported():
    with served("--steps", "3") as url:
        passes = ROOT / "suites/demo/passes" / TASK
        done = run("recipes/grpo/noise.py", "--url", url, "--task", TASK, "--passes", passes, "--repeat", 3)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["episodes"] == 3 and 0 <= report["unsettled"] <= 3
    assert report["pairs_separate"] <= report["pairs"]
