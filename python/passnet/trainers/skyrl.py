"""SkyRL: a text environment of several turns.

    skyrl_gym.register(id="passnet", entry_point="passnet.trainers.skyrl:PassTextEnv")

A row of the data set has `env_class: passnet`, the prompt, and the task in `extra_info`. `rows` makes the rows. The configuration of the
environment has `urls` (default: the variable `PASSNET_ENV_URL`) and `timeout_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType

from passnet.trainers.rollout import DEFAULT_TIMEOUT_S, Rollout, Servers

ENV_CLASS = "passnet"


class PassTextEnv(BaseTextEnv):
    """One rollout. The model writes its calls into the text, between `<tool_call>` tags."""

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        config, extras = env_config or {}, extras or {}
        self._servers = Servers.of(config.get("urls"), config.get("timeout_s", DEFAULT_TIMEOUT_S))
        self._task = (extras.get("extra_info") or extras)["task"]
        self._rollout: Rollout | None = None
        self.max_turns = int(extras.get("max_turns", 50))

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Begins the rollout with the prompt of the row. If it is empty, uses the prompt of the task."""
        self._rollout = self._servers.rollout(self._task)
        return prompt or self._rollout.prompt(), {"task": self._task}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Carries out the calls in a text. The last turn includes the final measurement."""
        if self._rollout is None:
            raise RuntimeError("there is no episode; call init before step")
        self.turns += 1
        before = self._rollout.reward
        turn = self._rollout.act(action)
        if not turn.done and self.turns >= self.max_turns:
            turn = self._rollout.finish()
        done = turn.done
        observations = [] if done else [{"role": "user", "content": turn.text}]
        reward = self._rollout.reward - before
        return BaseTextEnvStepOutput(
            observations=observations, reward=reward, done=done, metadata={"failure": self._rollout.failure}
        )

    def get_metrics(self) -> dict[str, float]:
        return self._rollout.metrics() if self._rollout else {}

    def close(self) -> None:
        if self._rollout:
            self._rollout.close()


def rows(servers: Servers) -> list[dict[str, Any]]:
    """Returns the rows of a data set."""
    result = []
    for task in servers.tasks():
        with servers.rollout(task) as rollout:
            prompt = rollout.prompt()
        row = {"data_source": "passnet", "env_class": ENV_CLASS, "prompt": prompt, "extra_info": {"task": task}}
        result.append({**row, "reward_spec": {"method": "rule", "ground_truth": task}})
    return result
