"""TRL's GRPO trainer on PassNet: a tiny model of random weights, the real server, the real referee."""

import functools
import json
import pickle
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="needs the library trl")
pytest.importorskip("datasets", reason="needs the library datasets")

import trl
from trl import GRPOConfig, GRPOTrainer

from agent_command import TASK, hand_written, served, wrong
from passnet.trainers.rollout import Servers
from passnet.trainers.trl import PassEnvironment, dataset
from tiny_model import tiny_model


@pytest.fixture(scope="module")
def servers():
    with served("--steps", "12") as url:
        yield Servers((url,))


def write(environment, files):
    for name, text in files.items():
        assert "done" in environment.file_editor("create", path=f"/passes/{name}", file_text=text)


def test_tools_are_those_of_the_server(servers):
    from transformers.utils import get_json_schema

    environment = PassEnvironment(servers)
    with servers.rollout(TASK) as rollout:
        for tool in rollout.tools:
            function = tool["function"]
            ours = get_json_schema(getattr(environment, function["name"]))["function"]["parameters"]
            assert set(ours["properties"]) == set(function["parameters"].get("properties", {})), function["name"]
            assert set(ours.get("required", [])) == set(function["parameters"].get("required", [])), function["name"]
        public = {name for name in dir(PassEnvironment) if not name.startswith("_")}
        assert public - {"reset", "get_reward"} == {tool["function"]["name"] for tool in rollout.tools}


def test_an_episode_by_calls_of_methods(servers):
    environment = pickle.loads(pickle.dumps(functools.partial(PassEnvironment, servers)))()
    environment.reset(prompt=[], task=TASK)
    assert environment.graph_info().startswith("graph 000")
    assert "there is no command" in environment.best_state("no such command")
    write(environment, wrong(hand_written()))
    assert "accuracy" in environment.pass_evaluator()
    write(environment, hand_written())
    assert "correct" in environment.pass_evaluator(stage="check")
    environment.pass_evaluator()
    reward = environment.get_reward()
    assert 0.0 <= reward <= 1.0
    assert "over" in environment.graph_info()
    environment.reset(prompt=[], task=TASK)
    assert environment.get_reward() == 0.0, "a new episode has forgotten the passes of the one before"


def test_a_step_of_training(servers, tmp_path, monkeypatch):
    """Two steps of GRPO. A policy of random weights calls no tool, so every reward is that of doing nothing."""
    rows = dataset(servers, repeat=2)
    assert rows[0]["task"] == TASK and [message["role"] for message in rows[0]["prompt"]] == ["system", "user"]
    # TRL parses the calls of templates that it knows.
    template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text()
    tiny_model(tmp_path / "tiny", [message["content"] for message in rows[0]["prompt"]], template)
    settings = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=24,
        max_steps=2,
        logging_steps=1,
        report_to=[],
        bf16=False,
        use_cpu=True,
        save_strategy="no",
        learning_rate=1e-3,
    )
    rewards = []

    class Watched(PassEnvironment):
        def get_reward(self):
            rewards.append(super().get_reward())
            return rewards[-1]

    trainer = GRPOTrainer(
        model=str(tmp_path / "tiny"),
        args=settings,
        train_dataset=rows,
        environment_factory=functools.partial(Watched, servers),
    )
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert len(logged) == 2 and len(rewards) == 4
    assert all(entry["reward"] == pytest.approx(0.0) for entry in logged), json.dumps(logged)
