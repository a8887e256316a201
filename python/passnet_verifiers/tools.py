"""PassNet's tools as a toolset of `verifiers`, for harnesses that bring their own agent (Codex, Claude Code, ...).

    --env.taskset.tools true --env.taskset.url http://127.0.0.1:8801 --env.agent.harness.id null

The tools run in a server of the Model Context Protocol, which the library starts for each rollout; passes are evaluated by PassNet's
server, at `url`. The reward is the same as with `PassHarness`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import verifiers.v1 as vf

from passnet.env import Env
from passnet.trainers.rollout import Servers
from passnet.trainers.tools import TOOLS, Tools
from passnet_verifiers.data import PassData


class PassState(vf.State):
    """State of a rollout that the tools and the reward share."""

    session: int = -1
    reward: float = 0.0
    done: bool = False


class PassToolset(vf.Toolset[vf.ToolsetConfig, PassState]):
    """The seven tools, without a prefix, so that they have the names that they have in trajectories."""

    TOOL_PREFIX = None

    async def setup_task(self, task: PassData) -> None:
        """Begins the session of the rollout."""
        self._rollout = await asyncio.to_thread(Servers.of(task.url).rollout, task.name)
        self._tools = Tools(self._rollout)

    def register(self, mcp: Any) -> None:
        for name in TOOLS:
            tool = self._recorded(getattr(self._tools, name))
            mcp.add_tool(self._with_state(tool), name=name, description=(tool.__doc__ or "").partition("\n")[0])

    def _recorded(self, tool: Callable[..., str]) -> Callable[..., Any]:
        """Carries a call out in a thread and records the reward in the state."""

        @functools.wraps(tool)
        async def wrapper(*args: Any, **kwargs: Any) -> str:
            text = await asyncio.to_thread(tool, *args, **kwargs)
            rollout = self._rollout
            self.state.session, self.state.reward, self.state.done = rollout.session, rollout.reward, rollout.done
            return text

        wrapper.__signature__ = _plain_texts(tool)
        return wrapper


class PassToolTask(vf.Task[PassData, PassState]):
    """A task whose tools are a toolset."""

    @classmethod
    def toolsets(cls, config: vf.TaskConfig) -> list[vf.Toolset]:
        return [PassToolset(vf.ToolsetConfig())]

    @vf.reward
    async def passes(self, trace: vf.Trace) -> float:
        """Reward of the best passes, measured again; 0 if nothing was submitted."""
        state = trace.state
        if state.session < 0 or state.done:
            return state.reward
        step = await asyncio.to_thread(Env.connect(self.data.url).step, "", state.session)
        return state.reward + step.reward


def _plain_texts(tool: Callable[..., str]) -> inspect.Signature:
    """Returns the signature with `str` for `str | None`.

    The protocol's server parses an argument that could be something other than text as JSON first, and would turn the file of the
    order, which is JSON, into a list.
    """
    hints = typing.get_type_hints(tool)
    signature = inspect.signature(tool)
    kinds = {name: str if hints[name] == (str | None) else hints[name] for name in signature.parameters}
    parameters = [one.replace(annotation=kinds[one.name]) for one in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=str)


if __name__ == "__main__":
    PassToolset.run()
