"""Rollouts for any trainer: a picklable handle of the servers, and one session per rollout.

    servers = Servers(("http://127.0.0.1:8801",))
    with servers.rollout("gpt2-gelu-tanh") as rollout:
        rollout.prompt()                       # messages for a model that writes its calls into the text
        turn = rollout.act(text_of_the_model)  # turn.observation, turn.reward, turn.done
        rollout.reward                         # sum of the rewards so far

docs/reference/trajectories.md defines the reward. If the server cannot continue a rollout, after a timeout or a lost connection, the rollout
ends: `failure` says why, and `reward` is the reward until then. Such a rollout does not evaluate the model, so leave it out of training if
the trainer supports that.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from passnet.env import Env, EnvError, Message
from passnet.trainers.answers import INSTRUCTIONS, files_of

URLS = "PASSNET_ENV_URL"
"""Environment variable with the addresses of servers. For trainers that pass no configuration to an environment."""
DEFAULT_TIMEOUT_S = 600.0
MAX_CALLS = 12
"""Largest number of calls in one action. The server's own limit is sixteen."""


@dataclass(frozen=True)
class Turn:
    """The result of one action."""

    observation: list[Message]
    reward: float
    done: bool
    info: dict[str, Any]

    @property
    def text(self) -> str:
        """Returns the observation as one text, for trainers without tool messages."""
        return "\n\n".join(f"<tool_response>\n{message['content']}\n</tool_response>" for message in self.observation)


@dataclass(frozen=True)
class Servers:
    """Addresses of servers of one suite, one per device. Can be pickled; each process makes its own connections.

    All rollouts of a task go to the same server, so that the members of a group are measured on one device and their rewards can be
    compared.
    """

    urls: tuple[str, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S
    """Longest wait for one reply, in seconds. Choose it below the trainer's own limit, so that the rollout fails and not the trainer."""

    def __post_init__(self) -> None:
        if not self.urls:
            raise ValueError("no server: start `passnet env serve SUITE --listen HOST:PORT` and give its address")

    @classmethod
    def of(cls, urls: str | tuple[str, ...] | list[str] | None = None, timeout_s: float = DEFAULT_TIMEOUT_S) -> Servers:
        """Returns the servers with these addresses, separated by commas. Without addresses, reads the variable `PASSNET_ENV_URL`."""
        if urls is None:
            urls = os.environ.get(URLS, "")
        if isinstance(urls, str):
            urls = [url.strip() for url in urls.split(",") if url.strip()]
        return cls(tuple(urls), float(timeout_s))

    def tasks(self) -> list[str]:
        """Returns the names of the tasks."""
        return _connection(self.urls[0], self.timeout_s).tasks()

    def server_of(self, task: str) -> str:
        """Returns the address at which rollouts of a task run."""
        digest = hashlib.sha256(task.encode()).digest()
        return self.urls[int.from_bytes(digest[:8], "big") % len(self.urls)]

    def rollout(self, task: str) -> Rollout:
        """Begins a rollout.

        Raises:
            EnvError: there is no such task, or no server.
        """
        env = _connection(self.server_of(task), self.timeout_s)
        (begin,) = env.reset_many([task])
        return Rollout(env, task, begin.session, begin.messages, begin.tools)

    def prompts(self) -> Iterator[tuple[str, list[Message], list[dict[str, Any]]]]:
        """Yields the name, messages and tools of each task, for the data set of a trainer."""
        for task in self.tasks():
            with self.rollout(task) as rollout:
                yield task, rollout.messages, rollout.tools


@dataclass
class Rollout:
    """One session. The end of a `with` block, or `close`, closes it."""

    env: Env
    task: str
    session: int
    messages: list[Message]
    tools: list[dict[str, Any]]
    reward: float = 0.0
    done: bool = False
    failure: str = ""
    statuses: list[list[str]] = field(default_factory=list)
    """For each evaluation, the status of each graph."""

    def prompt(self) -> list[Message]:
        """Returns messages that describe the tools in their text, for models without tool calls."""
        system, *rest = self.messages
        return [{**system, "content": f"{system['content']}\n\n{_tools_text(self.tools)}"}, *rest]

    def single_turn_prompt(self) -> list[Message]:
        """Returns messages that ask for all files in one answer, for `submit`."""
        system, *rest = self.messages
        return [{**system, "content": f"{system['content']}\n\n{INSTRUCTIONS}"}, *rest]

    def act(self, action: Message | str) -> Turn:
        """Carries out an action of the model: a chat message with calls, or a text with calls in `<tool_call>` tags.

        An action without a call ends the rollout. After the end an action does nothing.
        """
        if self.done:
            return Turn([], 0.0, True, {})
        try:
            step = self.env.step(action, self.session)
        except EnvError as error:
            self.failure, self.done = str(error), True
            return Turn([], 0.0, True, {"failure": self.failure})
        self.reward += step.reward
        self.done = step.done
        for evaluation in step.info.get("evaluations", []):
            self.statuses.append([graph["status"] for graph in evaluation["graphs"]])
        return Turn(step.observation, step.reward, step.done, step.info)

    def call(self, name: str, **arguments: Any) -> Turn:
        """Calls one tool. Arguments that are `None` are left out."""
        given = {key: value for key, value in arguments.items() if value is not None}
        return self.act({"role": "assistant", "content": "", "tool_calls": [_call(0, name, given)]})

    def submit(self, answer: str) -> Turn:
        """Evaluates the files of a single answer and ends the rollout. The reward of an answer without a file is 0."""
        calls = [
            _call(number, "file_editor", {"command": "create", "path": f"/passes/{name}", "file_text": text})
            for number, (name, text) in enumerate(files_of(answer).items())
        ]
        calls += [_call(len(calls), "pass_evaluator", {})] if calls else []
        for first in range(0, len(calls), MAX_CALLS):
            self.act({"role": "assistant", "content": "", "tool_calls": calls[first : first + MAX_CALLS]})
        return self.finish()

    def finish(self) -> Turn:
        """Ends the rollout. The server measures the best passes again."""
        return self.act("")

    def metrics(self) -> dict[str, float]:
        """Returns numbers for a trainer's log."""
        flat = [status for graphs in self.statuses for status in graphs]
        return {
            "passnet/reward": self.reward,
            "passnet/evaluations": float(len(self.statuses)),
            "passnet/correct": float(bool(self.statuses) and set(self.statuses[-1]) <= {"correct"}),
            "passnet/integrity": float("integrity" in flat),
            "passnet/failed": float(bool(self.failure)),
        }

    def close(self) -> None:
        """Closes the session. A server that no longer runs is no error."""
        try:
            self.env.close_session(self.session)
        except EnvError:
            self.failure = self.failure or "the connection to the server was lost"
        self.done = True

    def __enter__(self) -> Rollout:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _tools_text(tools: list[dict[str, Any]]) -> str:
    described = "\n".join(json.dumps(tool["function"]) for tool in tools)
    return (
        f"# Tools\n\nThese functions can be called:\n<tools>\n{described}\n</tools>\n\nTo call one, write a JSON object with its name "
        'and arguments between tags:\n<tool_call>\n{"name": "NAME", "arguments": {...}}\n</tool_call>'
    )


@functools.cache
def _connection(url: str, timeout_s: float) -> Env:
    """Returns the connection of this process to a server."""
    return Env.connect(url, timeout_s=timeout_s)
