"""TRL: an environment for `GRPOTrainer(environment_factory=...)`, also with the asynchronous trainer.

    servers = Servers(("http://127.0.0.1:8801",))
    trainer = GRPOTrainer(
        model=MODEL,
        train_dataset=dataset(servers),
        environment_factory=functools.partial(PassEnvironment, servers),
    )

The tools have the names and arguments that they have in trajectories, so a model that was fine-tuned on those knows them. The factory
holds addresses only and can be pickled. The environment owns the reward, so `reward_funcs` may be left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rollout import Rollout, Servers

if TYPE_CHECKING:
    from datasets import Dataset

_OVER = "the episode is over: no steps are left; answer without calling a tool"


class PassEnvironment:
    """One rollout at a time on one task. TRL makes tools of all public methods but `reset` and `get_reward`."""

    def __init__(self, servers: Servers | None = None) -> None:
        self._servers = servers or Servers.of()
        self._rollout: Rollout | None = None

    def reset(self, task: str, **_: Any) -> None:
        """Begins a rollout on the task that a row of the data set names."""
        if self._rollout is not None:
            self._rollout.close()
        self._rollout = self._servers.rollout(task)

    def get_reward(self) -> float | None:
        """Ends the rollout and returns its reward; `None`, which TRL leaves out, if the server could not carry it out."""
        if self._rollout is None:
            return None
        self._rollout.finish()
        reward = None if self._rollout.failure else self._rollout.reward
        self._rollout.close()
        return reward

    def file_editor(
        self,
        command: str,
        path: str | None = None,
        file_text: str | None = None,
        old_str: str | None = None,
        new_str: str | None = None,
        insert_line: int | None = None,
        insert_text: str | None = None,
        view_range: list[int] | None = None,
    ) -> str:
        """View and edit the pass directory.

        Args:
            command: view, create, str_replace, insert or delete
            path: /passes for the directory, /passes/NAME for a file
            file_text: create: the whole text
            old_str: str_replace: text that occurs exactly once
            new_str: str_replace: the text in its place
            insert_line: insert: the line to insert after, 0 for the beginning
            insert_text: insert: the lines
            view_range: view: first and last line

        Returns:
            The file, the directory, or a reason.
        """
        return self._call(
            "file_editor",
            command=command,
            path=path,
            file_text=file_text,
            old_str=old_str,
            new_str=new_str,
            insert_line=insert_line,
            insert_text=insert_text,
            view_range=view_range,
        )

    def pass_evaluator(self, stage: str | None = None, skip_cpu: bool | None = None) -> str:
        """Evaluate the pass directory on the graphs of the task: lint, match, check, timing.

        Args:
            stage: where to stop: lint, check or all (the default); only all gives a score
            skip_cpu: skip the check on the CPU, if Triton's interpreter is known to be wrong

        Returns:
            For each graph the result, or the stage at which it failed and why.
        """
        return self._call("pass_evaluator", stage=stage, skip_cpu=skip_cpu)

    def graph_info(self, graph: str | None = None) -> str:
        """Show the types of all values of a graph, the bytes that have to move, and a bound on the time.

        Args:
            graph: name of the graph; the first one if not given

        Returns:
            One line per value, and totals.
        """
        return self._call("graph_info", graph=graph)

    def profile(self, graph: str | None = None) -> str:
        """Show where the time of a call goes, in eager mode and with the passes.

        Args:
            graph: name of the graph; the first one if not given

        Returns:
            Kernels and operators with their times.
        """
        return self._call("profile", graph=graph)

    def docs(self, topic: str) -> str:
        """Read documentation.

        Args:
            topic: rules, passes, matching, example-cpu, example-cuda, machine, or the id of a lint rule

        Returns:
            The page.
        """
        return self._call("docs", topic=topic)

    def best_state(self, command: str) -> str:
        """Compare with the files that had the best score so far, or bring them back.

        Args:
            command: diff or restore

        Returns:
            The difference, or the files.
        """
        return self._call("best_state", command=command)

    def _call(self, name: str, **arguments: Any) -> str:
        if self._rollout is None or self._rollout.done:
            return _OVER
        turn = self._rollout.call(name, **arguments)
        return "\n".join(message["content"] for message in turn.observation) or _OVER


def dataset(servers: Servers, repeat: int = 1) -> Dataset:
    """Returns the tasks as rows of `prompt` and `task`, each `repeat` times."""
    from datasets import Dataset

    rows = [{"prompt": messages, "task": task} for task, messages, _ in servers.prompts()]
    return Dataset.from_list(rows * repeat)
