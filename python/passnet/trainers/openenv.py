"""OpenEnv: PassNet behind an OpenEnv server.

    PASSNET_ENV_URL=http://127.0.0.1:8801 uvicorn --factory passnet.trainers.openenv:application --port 8000

A client resets with `task`, and steps with an action: the text of the model, or a chat message with calls. OpenEnv's task interface lists
the tasks in one split, `tasks`.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from passnet.trainers.rollout import Rollout, Servers

SPLIT = "tasks"
MAX_SESSIONS = 256


class PassAction(Action):
    """An answer of the model. An answer without a call ends the episode."""

    text: str = Field("", description="Text with calls between <tool_call> tags; unused if `message` is given")
    message: dict[str, Any] | None = Field(None, description="Chat message with `content` and `tool_calls`")


class PassObservation(Observation):
    """Messages to append to the conversation: the first two messages after a reset, those of the tools after a step."""

    messages: list[dict[str, Any]] = Field(default_factory=list)
    tools: list[dict[str, Any]] = Field(default_factory=list, description="Schemas of the tools, at a reset")


class PassState(State):
    """The episode so far."""

    task: str = ""
    total_reward: float = 0.0


class PassEnvironment(Environment[PassAction, PassObservation, PassState]):
    """An environment with one session at a time, on one task."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, servers: Servers | None = None) -> None:
        super().__init__()
        self._servers = servers or Servers.of()
        self._rollout: Rollout | None = None
        self._state = PassState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task: str | None = None, **kwargs: Any
    ) -> PassObservation:
        """Begins an episode on `task`, else on task number `index`, else on the task that `seed` chooses."""
        self.close()
        if task is None:
            names = self._servers.tasks()
            task = names[int(kwargs.get("index", seed or 0)) % len(names)]
        self._rollout = self._servers.rollout(task)
        self._state = PassState(episode_id=episode_id or uuid4().hex, task=task)
        return PassObservation(messages=self._rollout.messages, tools=self._rollout.tools, reward=0.0)

    def step(self, action: PassAction, timeout_s: float | None = None, **_: Any) -> PassObservation:
        """Carries out the calls of an action."""
        if self._rollout is None:
            raise RuntimeError("there is no episode; call reset before step")
        turn = self._rollout.act(action.message or action.text)
        self._state.step_count += 1
        self._state.total_reward = self._rollout.reward
        metadata = {**self._rollout.metrics(), "failure": self._rollout.failure}
        return PassObservation(messages=turn.observation, reward=turn.reward, done=turn.done, metadata=metadata)

    @property
    def state(self) -> PassState:
        return self._state

    def close(self) -> None:
        """Closes the session."""
        if self._rollout is not None:
            self._rollout.close()
            self._rollout = None

    def list_splits(self) -> list[str]:
        return [SPLIT]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [{"id": name, "index": index} for index, name in enumerate(self._servers.tasks())]

    def num_tasks(self, split: str) -> int:
        return len(self._servers.tasks())

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return self.list_tasks(split)[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        return self.list_tasks(split)[start:stop]


def application(servers: Servers | None = None) -> FastAPI:
    """Returns the server. Without `servers`, reads the addresses from the variable `PASSNET_ENV_URL`."""
    chosen = servers or Servers.of()
    return create_app(
        lambda: PassEnvironment(chosen),
        PassAction,
        PassObservation,
        env_name="passnet",
        state_cls=PassState,
        max_concurrent_envs=MAX_SESSIONS,
    )
