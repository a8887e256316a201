"""The tools of a rollout as typed and documented methods, for libraries that make schemas of methods.

Names and arguments are those of the server, and so of trajectories: a model that was fine-tuned on those knows the tools.
"""

from __future__ import annotations

from typing import Any

from passnet.trainers.rollout import Rollout

TOOLS = ("file_editor", "pass_evaluator", "graph_info", "profile", "docs", "best_state", "scratch_run")
_OVER = "the episode is over: no steps are left; answer without calling a tool"


class Tools:
    """The seven tools, on the rollout that is set. Each returns the text of the observation."""

    def __init__(self, rollout: Rollout | None = None) -> None:
        self._rollout = rollout

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

    def scratch_run(self, name: str, inputs: list[str]) -> str:
        """Run one pass on random inputs of your choice and compare it with its own pattern in eager mode.

        Args:
            name: name of the pass, without .py
            inputs: one text per parameter of the pattern, such as float32[2, 64], or int64[8] 0..30 for values from 0 to 30

        Returns:
            Whether the results agree, or why not, and the times of both. It is no verdict and changes no score.
        """
        return self._call("scratch_run", name=name, inputs=inputs)

    def _call(self, _tool: str, **arguments: Any) -> str:
        if self._rollout is None or self._rollout.done:
            return _OVER
        turn = self._rollout.call(_tool, **arguments)
        return "\n".join(message["content"] for message in turn.observation) or _OVER
