"""SkyRL's text environment, made by the installed `skyrl_gym`, against the real server and referee."""

import pytest

pytest.importorskip("skyrl_gym", reason="needs the library skyrl-gym")

import skyrl_gym

from agent_command import TASK, hand_written, served, tool_call, writing, wrong
from passnet.trainers.rollout import Servers
from passnet.trainers.skyrl import ENV_CLASS, rows


@pytest.fixture(scope="module")
def url():
    with served("--steps", "6") as address:
        yield address


@pytest.fixture(scope="module", autouse=True)
def registered():
    skyrl_gym.register(id=ENV_CLASS, entry_point="passnet.trainers.skyrl:PassTextEnv")


def made(url, **extras):
    (row,) = rows(Servers((url,)))
    config = {"urls": url, "timeout_s": 300}
    env = skyrl_gym.make(row["env_class"], env_config=config, extras={**row, **extras})
    messages, info = env.init(row["prompt"])
    assert info["task"] == TASK and "<tools>" in messages[0]["content"]
    return env


def test_an_episode_of_texts(url):
    env = made(url)
    first = env.step(tool_call("graph_info"))
    assert first["observations"][0]["role"] == "user" and "graph 000" in first["observations"][0]["content"]
    assert (first["reward"], first["done"]) == (0.0, False)
    assert "accuracy" in env.step(writing(wrong(hand_written())))["observations"][0]["content"]
    middle = env.step(writing(hand_written()))
    last = env.step("Done.")
    assert last["done"] and last["observations"] == [] and last["metadata"] == {"failure": ""}
    assert env.get_metrics()["passnet/reward"] == pytest.approx(middle["reward"] + last["reward"])
    env.close()


def test_the_limit_of_turns_ends_the_episode_with_what_was_submitted(url):
    env = made(url, max_turns=1)
    only = env.step(writing(hand_written()))
    assert only["done"] and env.get_metrics()["passnet/evaluations"] == 1.0
    assert 0.0 <= only["reward"] <= 1.0
    env.close()
