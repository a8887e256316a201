"""The environment for reinforcement learning: episodes on the tasks of a suite, judged by the referee.

    import passnet

    with passnet.Env("suites/passbench-train") as env:
        prompt = env.reset(env.tasks()[0])         # messages and tools in the form of chat completions
        step = env.step(message)                   # a chat message of the model, or its text
        step.observation, step.reward, step.done, step.info

The sum of an episode's rewards is the reward of its best passes, which are measured again at the end (docs/reference/trajectories.md).
An episode with wrong passes or without passes earns 0. Many episodes can run at the same time: `reset_many` and `step_many` send all
requests to the server before they wait for the first reply. Equal passes are evaluated once.

`Env(suite)` starts `passnet env serve` as a child process. `Env.connect(url)` uses a server that listens on HTTP. A server on a fleet
(`passnet env serve --fleet`) has many clients. If the server is busy, the client waits and sends its request again.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import queue
import random
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from passnet._command import CommandNotFoundError, find_command

Message = dict[str, Any]

_PARALLEL_REQUESTS = 64
_SENDS = 4
"""Number of times that a request is sent before a broken connection is an error."""
_PAUSE_S = 0.3
"""Pause before a request is sent the second time, in seconds. It doubles for each further time."""


class EnvError(RuntimeError):
    """The server refused a request, or no longer runs."""


class EnvBusyError(EnvError):
    """The server is busy: its queue is full, or this client has reached its limit of actions in progress. The action was not carried out."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds to wait before the same request is sent again."""


@dataclass(frozen=True)
class Prompt:
    """The beginning of an episode."""

    session: int
    task: str
    messages: list[Message]
    tools: list[dict[str, Any]]


@dataclass(frozen=True)
class Step:
    """Result of an action: messages of the tools, and the reward."""

    observation: list[Message]
    """Messages of the tools. Append them to the conversation."""
    reward: float
    done: bool
    info: dict[str, Any]


class Env:
    """Episodes on the tasks of a suite. Safe to use from several threads, each with separate sessions."""

    def __init__(self, suite: str | os.PathLike[str], *, binary: str | None = None, flags: Sequence[str] = ()) -> None:
        """Starts a server. `flags` are those of `passnet env serve`, e.g. `["--device", "cuda", "--steps", "20"]`.

        The command is `binary`, else `PASSNET_BINARY`, else the command installed with this package.
        """
        self._transport: _Pipe | _Http = _Pipe([_binary(binary), "env", "serve", os.fspath(suite), *flags])
        self._current: int | None = None
        self._client: dict[str, str] = {}

    @classmethod
    def connect(
        cls, url: str, *, timeout_s: float | None = None, client: str | None = None, priority: str = "training"
    ) -> Env:
        """Uses a server that was started with `passnet env serve SUITE --listen HOST:PORT`.

        A request that takes longer than `timeout_s` seconds raises `EnvError`. Without `timeout_s`, a request has no limit. If the
        server is busy or the connection breaks, the request is sent again within this time. The server carries out each action once.

        A server on a fleet shares its devices evenly between clients. `client` is the name of this client, by default its host
        and process. Clients of priority `batch` get devices after those of priority `training`.
        """
        env = cls.__new__(cls)
        env._transport, env._current = _Http(url, timeout_s), None
        env._client = {"client": client or _default_client(), "priority": priority}
        return env

    def tasks(self) -> list[str]:
        """Returns the names of the tasks."""
        return self._request({"op": "tasks"})["tasks"]

    def reset(self, task: str) -> Prompt:
        """Begins an episode and closes the previous one. `step` without a session refers to this episode."""
        if self._current is not None:
            self.close_session(self._current)
        prompt = self.reset_many([task])[0]
        self._current = prompt.session
        return prompt

    def step(self, action: Message | str, session: int | None = None) -> Step:
        """Carries out an action: the tool calls of a chat message. A message without tool calls ends the episode."""
        session = self._current if session is None else session
        if session is None:
            raise EnvError("there is no episode; call reset first")
        return self.step_many([(session, action)])[0]

    def reset_many(self, tasks: Iterable[str]) -> list[Prompt]:
        """Begins an episode for each task."""
        tasks = list(tasks)
        replies = self._requests([{"op": "reset", "task": task, **self._client} for task in tasks])
        return [
            Prompt(reply["session"], task, reply["messages"], reply["tools"])
            for task, reply in zip(tasks, replies, strict=True)
        ]

    def step_many(self, actions: Iterable[tuple[int, Message | str]]) -> list[Step]:
        """Carries out one action in each of several sessions. Evaluations run one at a time on the device."""
        # The key lets the server recognise an action that was sent twice.
        requests = [
            {"op": "step", "session": session, "action": action, "key": uuid.uuid4().hex} for session, action in actions
        ]
        return [
            Step(reply["messages"], reply["reward"], reply["done"], reply["info"]) for reply in self._requests(requests)
        ]

    def close_session(self, session: int) -> None:
        """Closes a session; the server forgets its episode."""
        self._request({"op": "close", "session": session})

    def close(self) -> None:
        """Ends the server if it is a child of this process."""
        self._transport.close()

    def __enter__(self) -> Env:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._requests([request])[0]

    def _requests(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        replies = self._transport.send(requests)
        for reply in replies:
            if "retry_after_s" in reply:
                raise EnvBusyError(reply["error"], reply["retry_after_s"])
            if "error" in reply:
                raise EnvError(reply["error"])
        return replies


def _default_client() -> str:
    # The server accepts only these characters in names.
    return re.sub(r"[^A-Za-z0-9._:/@-]", "-", f"{socket.gethostname()[:48]}:{os.getpid()}")


def _binary(chosen: str | None) -> str:
    try:
        return chosen or find_command()
    except CommandNotFoundError as error:
        raise EnvError(str(error)) from error


class _Pipe:
    """A server as a child process that reads and writes JSON lines.

    One thread reads the replies and passes each to the thread that waits for its id.
    """

    def __init__(self, command: list[str]) -> None:
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._ids = itertools.count()
        self._lock = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._child.stdout:
            reply = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(reply.get("id", -1), None)
            if waiting is not None:
                waiting.put(reply)
        code = self._child.wait()
        with self._lock:
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            waiting.put({"error": f"the server has ended with code {code}"})

    def send(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        queues = []
        for request in requests:
            replies: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
            with self._lock:
                if self._child.poll() is not None:
                    raise EnvError(f"the server has ended with code {self._child.returncode}")
                number = next(self._ids)
                self._waiting[number] = replies
                try:
                    self._child.stdin.write(json.dumps({**request, "id": number}) + "\n")
                    self._child.stdin.flush()
                except OSError as error:
                    del self._waiting[number]
                    raise EnvError("the connection to the server was lost") from error
            queues.append(replies)
        return [replies.get() for replies in queues]

    def close(self) -> None:
        if self._child.poll() is None:
            self._child.stdin.close()
            try:
                self._child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()


class _Http:
    """A server on HTTP. Each of several connections POSTs one request at a time."""

    def __init__(self, url: str, timeout_s: float | None) -> None:
        self._url, self._timeout_s = url, timeout_s
        self._pool = ThreadPoolExecutor(_PARALLEL_REQUESTS)

    def send(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return list(self._pool.map(self._post, requests))

    def _post(self, request: dict[str, Any]) -> dict[str, Any]:
        end = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        broken = 0
        while True:
            try:
                reply = self._post_once(request, end)
            except (ConnectionError, http.client.HTTPException) as error:
                # The connection broke. A refused connection is another error: no server listens.
                broken += 1
                if broken == _SENDS or isinstance(error, ConnectionRefusedError):
                    raise EnvError(f"{self._url}: {error}") from error
                time.sleep(_PAUSE_S * 2 ** (broken - 1))
                continue
            # A `ValueError` means that the address is invalid, or that the reply is not JSON.
            except (OSError, ValueError) as error:
                raise EnvError(f"{self._url}: {error}") from error
            if broken and request["op"] == "close" and "error" in reply:
                return {}  # The first request was carried out; only its reply was lost.
            if "retry_after_s" not in reply:
                return reply
            # A random factor, so that clients that were refused at the same time do not all retry at the same time.
            pause = reply["retry_after_s"] * random.uniform(0.5, 1.0)
            if end is not None and time.monotonic() + pause >= end:
                return reply
            time.sleep(pause)

    def _post_once(self, request: dict[str, Any], end: float | None) -> dict[str, Any]:
        call = urllib.request.Request(self._url, data=json.dumps(request).encode())
        left = None if end is None else max(end - time.monotonic(), 0.001)
        try:
            with urllib.request.urlopen(call, timeout=left) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                raise
            with error:
                return json.load(error)
        except urllib.error.URLError as error:
            raise error.reason if isinstance(error.reason, OSError) else error from error

    def close(self) -> None:
        self._pool.shutdown()
