"""veRL's reward function and agent loop, with the installed library, a tiny tokenizer, and a scripted engine.

The engine is a script because veRL serves models with vLLM or SGLang on GPUs only; the loop, its tokens and masks are veRL's own.
"""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("verl.experimental.agent_loop.agent_loop", reason="needs the library verl with its dependencies")

from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, _agent_loop_registry
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.utils.import_utils import load_extern_object

import passnet
from agent_command import TASK, answering, hand_written, served, tool_call, writing, wrong
from passnet.trainers.rollout import URLS, Servers
from passnet.trainers.verl import AGENT, rows
from passnet.trainers.verl_agent import PassAgentLoop
from tiny_model import tiny_model


@pytest.fixture(scope="module")
def url():
    with served("--steps", "6") as address:
        yield address


def test_the_reward_function_as_verl_loads_it(url, monkeypatch):
    monkeypatch.setenv(URLS, url)
    path = passnet.__file__.replace("__init__.py", "trainers/verl.py")
    score = load_extern_object(path, "compute_score")
    (row,) = rows(Servers((url,)), single_turn=True)
    assert row["reward_model"]["ground_truth"] == TASK and "agent_name" not in row
    for answer, right in [(answering(wrong(hand_written())), 0.0), ("nothing", 0.0), (answering(hand_written()), None)]:
        result = score(data_source="passnet", solution_str=answer, ground_truth=TASK, extra_info=row["extra_info"])
        assert 0.0 <= result["score"] <= 1.0 and right in (None, result["score"])


class Engine:
    """Answers with texts of a script, as tokens."""

    def __init__(self, texts, tokenizer):
        self.texts, self.tokenizer, self.prompts = list(texts), tokenizer, []

    async def generate(self, request_id, prompt_ids, sampling_params):
        self.prompts.append(list(prompt_ids))
        tokens = self.tokenizer.encode(self.texts.pop(0), add_special_tokens=False)
        tokens.append(self.tokenizer.eos_token_id)
        return SimpleNamespace(token_ids=tokens, log_probs=[-0.5] * len(tokens))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory, url):
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tiny")
    (row,) = rows(Servers((url,)))
    tiny_model(folder, [message["content"] for message in row["prompt"]])
    return AutoTokenizer.from_pretrained(folder)


def run(url, tokenizer, texts, response_length):
    (row,) = rows(Servers((url,)))
    assert row["agent_name"] == AGENT and _agent_loop_registry[AGENT]["_target_"].endswith("PassAgentLoop")
    settings = {"prompt_length": 1 << 14, "response_length": response_length}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": settings}, "data": {}})
    engine = Engine(texts, tokenizer)

    async def episode():
        loop = PassAgentLoop(
            DictConfigWrap(config), engine, tokenizer, None, RLHFDataset, DictConfigWrap(config.data), "qwen2", urls=url
        )
        return await loop.run({}, raw_prompt=row["prompt"], extra_info=row["extra_info"])

    return engine, asyncio.run(episode())


def test_an_episode_of_tokens(url, tokenizer):
    texts = [tool_call("graph_info"), writing(hand_written()), "Done."]
    engine, output = run(url, tokenizer, texts, 1 << 14)
    assert not engine.texts and output.num_turns == 6
    assert 0.0 <= output.reward_score <= 1.0
    assert len(output.response_ids) == len(output.response_mask) == len(output.response_logprobs)
    sampled = [token for token, mine in zip(output.response_ids, output.response_mask, strict=True) if mine]
    text = tokenizer.decode(sampled)
    assert all(part in text for part in texts), "the tokens of the model are those that it sampled"
    assert "graph 000" not in text and "graph 000" in tokenizer.decode(output.response_ids)
    assert engine.prompts[1][: len(engine.prompts[0])] == engine.prompts[0], "earlier tokens never change"


def test_a_full_response_ends_the_episode_with_what_was_submitted(url, tokenizer):
    length = len(tokenizer.encode(writing(hand_written()))) + 8
    _, output = run(url, tokenizer, [writing(hand_written())], length)
    assert output.extra_fields["reward_extra_info"]["passnet/evaluations"] == 1.0
    assert len(output.response_ids) <= length
