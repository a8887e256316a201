"""OpenRLHF's reward function and agent, run by the installed executor where the library is there.

OpenRLHF needs flash-attn and deepspeed, which do not install without a GPU; `pip install --no-deps openrlhf` has the module that is tested.
"""

import asyncio
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("openrlhf.utils.agent", reason="needs the library openrlhf")

import passnet
from agent_command import TASK, answering, hand_written, served, tool_call, writing, wrong
from passnet.trainers.rollout import URLS, Servers


@pytest.fixture(scope="module")
def url():
    with served("--steps", "6") as address:
        yield address


@pytest.fixture
def module(url, monkeypatch):
    """The file as OpenRLHF loads it: by its path."""
    monkeypatch.setenv(URLS, url)
    path = Path(passnet.__file__).parent / "trainers/openrlhf.py"
    spec = importlib.util.spec_from_file_location("agent_file", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_rewards_of_single_answers(module, url):
    (row,) = module.rows(Servers((url,)), single_turn=True)
    assert row["label"] == TASK and "fenced block" in row["prompt"][0]["content"]
    answers = [answering(wrong(hand_written())), "nothing", answering(hand_written())]
    result = module.reward_func(["PROMPT" + answer for answer in answers], ["PROMPT"] * 3, [TASK] * 3)
    assert result["rewards"].tolist()[:2] == [0.0, 0.0] and 0.0 <= result["rewards"][2] <= 1.0
    assert result["extra_logs"]["passnet/evaluations"].tolist() == [1.0, 0.0, 1.0]


class Engine:
    """Stands for the engine of the trainer: it answers with texts of a script."""

    def __init__(self, texts, tokenizer):
        self.texts, self.tokenizer = list(texts), tokenizer

    async def generate(self, tokens, parameters, multi_modal_data=None):
        text = self.texts.pop(0)
        output = SimpleNamespace(token_ids=self.tokenizer.encode(text), text=text, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


class Bytes:
    """Stands for a tokenizer: one token per byte."""

    def encode(self, text):
        return list(text.encode())

    def __call__(self, text, add_special_tokens, return_tensors):
        import torch

        return {"input_ids": torch.tensor([self.encode(text)])}


def test_the_executor_runs_an_episode(module):
    tokenizer = Bytes()
    engine = Engine([tool_call("graph_info"), writing(hand_written()), "Done."], tokenizer)
    parameters = SimpleNamespace(max_tokens=100, logprobs=None)
    executor = module.AgentExecutor()
    result = asyncio.run(executor.execute("PROMPT", TASK, parameters, 1 << 20, tokenizer, engine))
    assert len(result["action_ranges"]) == 3 and not engine.texts
    assert result["reward"] == pytest.approx(float(result["scores"]), abs=1e-6)
    text = bytes(result["observation_tokens"]).decode()
    assert text.startswith("PROMPT<tool_call>") and "<|im_start|>user\n<tool_response>\ngraph 000" in text
    assert float(result["extra_logs"]["passnet/evaluations"]) == 1.0
