"""The reward cannot be farmed: strategies as data, played against the real server. docs/guides/trainers/reward.md lists them."""

import json
from pathlib import Path

import pytest

from agent_command import TASK, hand_written, served, tool_call, wrong
from passnet.trainers.rollout import Servers

CASES = json.loads(Path(__file__).with_name("reward_cases.json").read_text())


@pytest.fixture(scope="module")
def servers():
    with served("--steps", "6") as url:
        yield Servers((url,))


def changed(old, new):
    return {name: text.replace(old, new) for name, text in hand_written().items()}


def replaced(body):
    """The bundled passes with another replacement function."""
    return {
        name: text
        if not name.endswith(".py")
        else text.partition("def replacement_func")[0]
        + f"def other(x):\n    {body}\n\n\ndef replacement_func():\n    return other\n"
        for name, text in hand_written().items()
    }


FILES = {
    "good": hand_written,
    "wrong": lambda: wrong(hand_written()),
    "cheat": lambda: changed("import torch\n", "import torch\nimport os\n"),
    "unmatched": lambda: changed("torch.tanh", "torch.sin"),
    "eager": lambda: replaced("return torch.nn.functional.gelu(x, approximate='tanh')"),
    "lazy": lambda: replaced("return x"),
}
CALLS = {
    "talk": "I am content.",
    "view": tool_call("file_editor", command="view"),
    "info": tool_call("graph_info"),
    "evaluate": tool_call("pass_evaluator"),
    "check": tool_call("pass_evaluator", stage="check"),
    "bad arguments": tool_call("pass_evaluator", stag="all"),
    "unknown stage": tool_call("pass_evaluator", stage="everything"),
    "unknown tool": '<tool_call>\n{"name": "give_reward", "arguments": {}}\n</tool_call>\n' + tool_call("graph_info"),
}


def text_of(actions):
    parts = []
    for action in actions:
        verb, _, which = action.partition(" ")
        if verb == "write":
            files = FILES[which]()
            parts += [
                tool_call("file_editor", command="create", path=f"/passes/{n}", file_text=t) for n, t in files.items()
            ]
        else:
            parts.append(CALLS[action])
    return "\n".join(parts)


def played(servers, turns):
    with servers.rollout(TASK) as rollout:
        for actions in turns:
            turn = rollout.act(text_of(actions))
        assert turn.done and not rollout.failure
        return rollout, turn.info


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_strategy_earns_what_its_best_passes_are_worth(servers, case):
    rollout, info = played(servers, case["turns"])
    if case["reward"] == "none":
        assert rollout.reward == 0.0 and rollout.metrics()["passnet/correct"] == 0.0
    else:
        # Exactly the last measurement of the best passes: nothing was added up.
        assert rollout.reward == pytest.approx(info["interval"]["value"]) == pytest.approx(info["return"])
        assert 0.0 <= rollout.reward <= info["interval"]["high"] <= 1.0


def test_the_same_passes_twice_agree_within_their_intervals(servers):
    """Both measurements are of the same truth, so their intervals overlap except for the 5 % that they are wrong, twice."""
    turns = [["write good", "evaluate"], ["talk"]]
    intervals = [played(servers, turns)[1]["interval"] for _ in range(6)]
    measured = [interval for interval in intervals if interval["high"] > 0]
    separate = [
        (one, two)
        for number, one in enumerate(measured)
        for two in measured[:number]
        if one["value"] > two["high"] or two["value"] > one["high"]
    ]
    assert len(separate) <= len(measured), separate
