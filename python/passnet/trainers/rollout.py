"""Rollouts for any trainer: a handle of the servers that can be pickled, and one session per rollout.

    servers = Servers(("http://127.0.0.1:8801",))
    with servers.rollout("gpt2-gelu-tanh") as rollout:
        rollout.prompt()                       # messages for a model that writes its calls into the text
        turn = rollout.act(text_of_the_model)  # turn.observation, turn.reward, turn.done
        rollout.reward                         # sum of the rewards so far

The reward is that of docs/reference/trajectories.md. A rollout that the server cannot continue (a timeout, a lost connection) is over:
`failure` says why, and `reward` is what was measured until then. Such a rollout says nothing of the model; leave it out of training
where the trainer can.
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
"""Environment variable with the addresses of servers, for trainers that pass no configuration to an environment."""
DEFAULT_TIMEOUT_S = 600.0
MAX_CALLS = 12
"""Calls of one action; the server carries out sixteen."""


@dataclass(frozen=True)
class Turn:
    """The result of one action."""

    observation: list[Message]
    reward: float
    done: bool
    info: dict[str, Any]

    @property
    def text(self) -> str:
        """The observation as one text, for trainers without messages of tools."""
        return "\n\n".join(f"<tool_response>\n{message['content']}\n</tool_response>" for message in self.observation)


@dataclass(frozen=True)
class Servers:
    """Addresses of servers of one suite, one per device. Can be pickled; each process connects for itself.

    All rollouts of a task go to the same server, so that the members of a group are measured on one device and their rewards can be
    compared.
    """

    urls: tuple[str, ...]
    timeout_s: float = DEFAULT_TIMEOUT_S
    """Longest wait for one reply. Choose it shorter than the trainer's own limit, so that the rollout fails and not the trainer."""

    def __post_init__(self) -> None:
        if not self.urls:
            raise ValueError("no server: start `passnet env serve SUITE --listen HOST:PORT` and give its address")

    @classmethod
    def of(cls, urls: str | tuple[str, ...] | list[str] | None = None, timeout_s: float = DEFAULT_TIMEOUT_S) -> Servers:
        """Reads addresses separated by commas; without any, those of the variable `PASSNET_ENV_URL`."""
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
        """Yields name, messages and tools of each task, to make the data set of a trainer."""
        for task in self.tasks():
            with self.rollout(task) as rollout:
                yield task, rollout.messages, rollout.tools


@dataclass
class Rollout:
    """One session. Closed at the end of a `with` block, or by `close`."""

    env: Env
    task: str
    session: int
    messages: list[Message]
    tools: list[dict[str, Any]]
    reward: float = 0.0
    done: bool = False
    failure: str = ""
    statuses: list[list[str]] = field(default_factory=list)
    """Status of each graph, for each evaluation."""

    def prompt(self) -> list[Message]:
        """Returns messages that describe the tools in the text, for models without calls of tools."""
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
        """Evaluates the files of a single answer and ends the rollout. An answer without a file is worth 0."""
        calls = [
            _call(number, "file_editor", {"command": "create", "path": f"/passes/{name}", "file_text": text})
            for number, (name, text) in enumerate(files_of(answer).items())
        ]
        calls += [_call(len(calls), "pass_evaluator", {})] if calls else []
        for first in range(0, len(calls), MAX_CALLS):
            self.act({"role": "assistant", "content": "", "tool_calls": calls[first : first + MAX_CALLS]})
        return self.finish()

    def finish(self) -> Turn:
        """Ends the rollout: the best passes are measured again."""
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
        """Forgets the session. A server that is gone has forgotten it."""
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
