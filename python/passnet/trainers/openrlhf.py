"""OpenRLHF: a reward function for single answers, and an agent of several turns.

    --reward.remote_url .../passnet/trainers/openrlhf.py       # single turn: `reward_func`
    --train.agent_func_path .../passnet/trainers/openrlhf.py   # several turns: `AgentExecutor`

OpenRLHF loads this file by its path and passes no configuration, so the variable `PASSNET_ENV_URL` has the addresses of the servers. The
label of a row is the name of its task. `rows` makes the rows.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from passnet.trainers.rollout import Rollout, Servers

PARALLEL = 64


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **_: Any) -> dict[str, Any]:
    """Returns the reward of each answer. A query is the prompt followed by the answer; a label names the task."""
    servers = Servers.of()

    def value(query: str, prompt: str, label: str) -> dict[str, float]:
        with servers.rollout(label) as rollout:
            rollout.submit(query.removeprefix(prompt))
            return rollout.metrics()

    with ThreadPoolExecutor(min(PARALLEL, max(1, len(queries)))) as pool:
        metrics = list(pool.map(value, queries, prompts, labels))
    rewards = torch.tensor([each["passnet/reward"] for each in metrics])
    logs = {name: torch.tensor([each[name] for each in metrics]) for name in (metrics[0] if metrics else {})}
    return {"rewards": rewards, "scores": rewards, "extra_logs": logs}


class AgentInstance(AgentInstanceBase):
    """One rollout. The model writes its calls into the text, between `<tool_call>` tags."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._servers = Servers.of()
        self._rollout: Rollout | None = None

    async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Begins the rollout of the task that the label names. The prompt is the text of the row."""
        self._rollout = await asyncio.to_thread(self._servers.rollout, states["label"])
        return {"observation": states["observation"]}

    async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Carries out the calls in an answer. The feedback continues the chat in ChatML format."""
        if self._rollout is None:
            raise RuntimeError("there is no episode; call reset before step")
        turn = await asyncio.to_thread(self._rollout.act, states["action_text"])
        metrics = self._rollout.metrics()
        if turn.done:
            await asyncio.to_thread(self._rollout.close)
        feedback = "" if turn.done else f"\n<|im_start|>user\n{turn.text}<|im_end|>\n<|im_start|>assistant\n"
        return {
            "rewards": torch.tensor(turn.reward),
            "scores": torch.tensor(self._rollout.reward),
            "environment_feedback": feedback,
            "done": turn.done,
            "sampling_params": states.get("sampling_params"),
            "extra_logs": {name: torch.tensor(value) for name, value in metrics.items()},
        }


class AgentExecutor(MultiTurnAgentExecutor):
    """Runs `AgentInstance`; OpenRLHF looks for this name."""

    def __init__(self) -> None:
        super().__init__(AgentInstance)


def rows(servers: Servers, single_turn: bool = False) -> list[dict[str, Any]]:
    """Returns rows of `prompt` (messages, for `--data.apply_chat_template`) and `label`."""
    result = []
    for task in servers.tasks():
        with servers.rollout(task) as rollout:
            prompt = rollout.single_turn_prompt() if single_turn else rollout.prompt()
        result.append({"prompt": prompt, "label": task})
    return result
