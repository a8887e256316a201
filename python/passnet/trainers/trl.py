"""TRL: an environment for `GRPOTrainer(environment_factory=...)`, also with the asynchronous trainer.

    servers = Servers(("http://127.0.0.1:8801",))
    trainer = GRPOTrainer(
        model=MODEL,
        train_dataset=dataset(servers),
        environment_factory=functools.partial(PassEnvironment, servers),
    )

The tools have the same names and arguments as in trajectories, so a model that was fine-tuned on trajectories knows them. The factory
contains only addresses and can be pickled. The environment computes the reward, so `reward_funcs` may be left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from passnet.trainers.rollout import Servers
from passnet.trainers.tools import Tools

if TYPE_CHECKING:
    from datasets import Dataset


class PassEnvironment(Tools):
    """An environment with one rollout at a time. TRL makes tools of all public methods except `reset` and `get_reward`."""

    def __init__(self, servers: Servers | None = None) -> None:
        super().__init__()
        self._servers = servers or Servers.of()

    def reset(self, task: str, **_: Any) -> None:
        """Begins a rollout on the task that a row of the data set names."""
        if self._rollout is not None:
            self._rollout.close()
        self._rollout = self._servers.rollout(task)

    def get_reward(self) -> float | None:
        """Ends the rollout and returns its reward. Returns `None`, which TRL leaves out, if the server could not carry out the rollout."""
        if self._rollout is None:
            return None
        self._rollout.finish()
        reward = None if self._rollout.failure else self._rollout.reward
        self._rollout.close()
        return reward


def dataset(servers: Servers, repeat: int = 1) -> Dataset:
    """Returns the tasks as rows of `prompt` and `task`, each `repeat` times."""
    from datasets import Dataset

    rows = [{"prompt": messages, "task": task} for task, messages, _ in servers.prompts()]
    return Dataset.from_list(rows * repeat)
