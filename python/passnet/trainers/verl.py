"""veRL: a reward function for single answers.

    reward.custom_reward_function.path=.../passnet/trainers/verl.py
    reward.custom_reward_function.name=compute_score

`passnet.trainers.verl_agent` is the agent loop of several turns. Rows of the data set have the name of the task as ground truth. They may
have `urls` in `extra_info`; the default is the variable `PASSNET_ENV_URL`. `rows` makes the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passnet.trainers.rollout import Servers

AGENT = "passnet"


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None = None, **_: Any
) -> dict[str, float]:
    """Returns `score`, the reward of an answer, and numbers for the log. Waits until the answer is measured."""
    servers = Servers.of((extra_info or {}).get("urls"))
    with servers.rollout(ground_truth) as rollout:
        rollout.submit(solution_str)
        return {"score": rollout.reward, **rollout.metrics()}


def rows(servers: Servers, single_turn: bool = False) -> list[dict[str, Any]]:
    """Returns the rows of a data set, for `pandas.DataFrame(rows).to_parquet(...)`."""
    result = []
    for index, task in enumerate(servers.tasks()):
        with servers.rollout(task) as rollout:
            prompt = rollout.single_turn_prompt() if single_turn else rollout.prompt()
        row = {"data_source": "passnet", "prompt": prompt, "ability": "kernels"}
        row |= {"reward_model": {"style": "rule", "ground_truth": task}, "extra_info": {"task": task, "index": index}}
        result.append(row if single_turn else {**row, "agent_name": AGENT})
    return result
