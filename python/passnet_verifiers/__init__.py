"""Tasks of PassNet for the `verifiers` library: `vf-eval passnet-verifiers --env.taskset.suite suites/train`.

The taskset lists the tasks of a suite. The harness lets the model under training call PassNet's own tools. The reward is that of
`passnet.Env`, which docs/reference/trajectories.md defines. The library finds all three by the name of this package.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
from collections.abc import Iterator
from typing import Any

import httpx
import verifiers.v1 as vf
from pydantic import Field

from passnet.env import Env, Prompt, Step
from passnet_verifiers.data import PassData
from passnet_verifiers.tools import PassToolset, PassToolTask

__all__ = ["PassEnv", "PassHarness", "PassTaskset", "PassToolTask", "PassToolset"]

_RECORD = "passnet"


class PassTasksetConfig(vf.TasksetConfig):
    """Source of the tasks, under `--env.taskset.*`."""

    suite: str = ""
    """Suite whose tasks a child process serves. Unused if `url` is set."""
    url: str = ""
    """Address of a server that several workers share, started with `passnet env serve SUITE --listen HOST:PORT`."""
    flags: list[str] = Field(default_factory=list)
    """Further flags of `passnet env serve`, e.g. `--device cuda --steps 20`."""
    tools: bool = False
    """Offer the tools as a toolset, for harnesses with a separate agent. Needs `url`."""


class PassTask(vf.Task[PassData]):
    """A task and its reward."""

    @vf.reward
    async def passes(self, trace: vf.Trace) -> float:
        """Reward of the best passes, from 0 to 1; 0 if nothing was submitted."""
        return float(trace.info.get(_RECORD, {}).get("return", 0.0))

    @vf.metric
    async def evaluations(self, trace: vf.Trace) -> float:
        """Returns the number of evaluations that the model requested."""
        return float(len(trace.info.get(_RECORD, {}).get("statuses", [])))


class PassTaskset(vf.Taskset[PassTask, PassTasksetConfig]):
    """The tasks of a suite."""

    def load(self) -> Iterator[PassTask]:
        config = self.config
        if not config.suite and not config.url:
            raise ValueError("set --env.taskset.suite to a suite, or --env.taskset.url to a server of one")
        if config.tools and not config.url:
            raise ValueError("tools run in a process of their own: start a server and set --env.taskset.url")
        kind = PassToolTask if config.tools else PassTask
        env = _served(config.suite, config.url, tuple(config.flags))
        for task in env.tasks():
            (begin,) = env.reset_many([task])
            env.close_session(begin.session)
            system, user = (message["content"] for message in begin.messages)
            served = {"suite": config.suite, "url": config.url, "flags": config.flags}
            yield kind(PassData(id=task, name=task, system_prompt=system, prompt=user, **served), config.task)


class PassHarnessConfig(vf.HarnessConfig):
    """No options: steps and templates are flags of the server."""


class PassHarness(vf.Harness[PassHarnessConfig]):
    """Conversation in this process: the model's calls go to PassNet's tools, which run passes in a separate sandbox."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
        tool_interception_url: str | None = None,
    ) -> vf.ProgramResult:
        env = await asyncio.to_thread(_served, data.suite, data.url, tuple(data.flags))
        (begin,) = await asyncio.to_thread(env.reset_many, [data.name])
        record: dict[str, Any] = {"return": 0.0, "statuses": []}
        trace.info[_RECORD] = record
        headers = {"authorization": f"Bearer {secret}"}
        try:
            async with httpx.AsyncClient(base_url=endpoint, headers=headers, timeout=None) as client:
                failure = await self._converse(client, ctx.model, env, begin, self._opening(data), record)
        finally:
            await asyncio.to_thread(env.close_session, begin.session)
        return vf.ProgramResult(exit_code=1 if failure else 0, stdout="", stderr=failure)

    def _opening(self, data: vf.TaskData) -> list[dict[str, Any]]:
        """Returns the first messages from the task, so that changes of the library to them apply."""
        system, prompt = self.resolve_prompt(data)
        return [{"role": "system", "content": system}, {"role": "user", "content": prompt}]

    async def _converse(
        self,
        client: httpx.AsyncClient,
        model: str,
        env: Env,
        begin: Prompt,
        messages: list[dict[str, Any]],
        record: dict[str, Any],
    ) -> str:
        """Asks and acts until the episode is over. Returns a description of the failure, empty without one."""
        while True:
            body = {"model": model, "messages": messages, "tools": begin.tools}
            response = await client.post("chat/completions", json=body)
            if response.is_error:
                # A limit of the rollout, or the model's server: what was submitted so far still counts.
                await self._act(env, begin, "", record)
                return f"HTTP {response.status_code}: {response.text}"
            message = response.json()["choices"][0]["message"]
            messages.append(message)
            step = await self._act(env, begin, message, record)
            if step.done:
                return ""
            messages += step.observation

    async def _act(self, env: Env, begin: Prompt, action: dict[str, Any] | str, record: dict[str, Any]) -> Step:
        step = await asyncio.to_thread(env.step, action, begin.session)
        record["return"] += step.reward
        for evaluation in step.info.get("evaluations", []):
            record["statuses"].append([graph["status"] for graph in evaluation["graphs"]])
        return step


class PassEnvConfig(vf.EnvConfig):
    """One agent without a container: PassNet confines the passes itself."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class PassEnv(vf.Env[PassEnvConfig]):
    """One agent at one task."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        await agents.agent.run(task)


@functools.cache
def _served(suite: str, url: str, flags: tuple[str, ...]) -> Env:
    """Returns the server of a suite; there is one per process."""
    env = Env.connect(url) if url else Env(suite, flags=flags)
    atexit.register(env.close)
    return env
