"""veRL: an agent loop of several turns, tokens in and tokens out.

A file for `actor_rollout_ref.rollout.agent.agent_loop_config_path`:

    - name: passnet
      _target_: passnet.trainers.verl_agent.PassAgentLoop
      urls: http://127.0.0.1:8801
      timeout_s: 600

Rows name the loop in the column `agent_name`. `passnet.trainers.verl.rows` makes the rows.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput, register

from passnet.trainers.rollout import DEFAULT_TIMEOUT_S, Rollout, Servers
from passnet.trainers.verl import AGENT


@register(AGENT)
class PassAgentLoop(AgentLoopBase):
    """One rollout. The model writes its calls into the text, between `<tool_call>` tags."""

    def __init__(
        self, *args: Any, urls: str | None = None, timeout_s: float = DEFAULT_TIMEOUT_S, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._servers = Servers.of(urls, timeout_s)
        self.response_length = self.rollout_config.response_length

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Runs until the model ends the episode, the steps are used up, or the response is full. Tokens of the model stay as sampled."""
        rollout = await asyncio.to_thread(self._servers.rollout, row["extra_info"]["task"])
        try:
            return await self._converse(rollout, list(row["raw_prompt"]), sampling_params)
        finally:
            await asyncio.to_thread(rollout.close)

    async def _converse(
        self, rollout: Rollout, messages: list[dict[str, Any]], sampling_params: dict[str, Any]
    ) -> AgentLoopOutput:
        tokens = await self.ct_build_initial_tokens(messages)
        mask: list[int] = []
        logprobs: list[float] | None = None
        turns, request = 1, uuid4().hex
        while not rollout.done:
            answer = await self.server_manager.generate(
                request_id=request, prompt_ids=tokens, sampling_params=sampling_params
            )
            merged, mask, logprobs = await self.ct_merge_assistant_token(
                tokens,
                answer.token_ids,
                mask,
                logprobs if logprobs is not None else [] if answer.log_probs else None,
                assistant_logprobs=answer.log_probs or None,
            )
            tokens = merged.token_ids
            text = self.tokenizer.decode(answer.token_ids, skip_special_tokens=True)
            turn = await asyncio.to_thread(rollout.act, text)
            turns += 1
            if turn.done:
                break
            before = [*messages, {"role": "assistant", "content": text}]
            messages = [*before, {"role": "user", "content": turn.text}]
            merged, longer, logprobs = await self.ct_merge_context_msg(before, messages, tokens, mask, logprobs)
            if len(longer) >= self.response_length:
                # The observation does not fit into the response, so the rollout ends with the passes so far.
                await asyncio.to_thread(rollout.finish)
                break
            tokens, mask, turns = merged.token_ids, longer, turns + 1
        return self._output(rollout, tokens, mask, logprobs, turns)

    def _output(
        self, rollout: Rollout, tokens: list[int], mask: list[int], logprobs: list[float] | None, turns: int
    ) -> AgentLoopOutput:
        begin, length = len(tokens) - len(mask), self.response_length
        return AgentLoopOutput(
            prompt_ids=tokens[:begin],
            response_ids=tokens[begin:][:length],
            response_mask=mask[:length],
            response_logprobs=logprobs[:length] if logprobs else None,
            reward_score=rollout.reward,
            num_turns=turns,
            metrics=AgentLoopMetrics(),
            extra_fields={"reward_extra_info": rollout.metrics(), "turn_scores": [], "tool_rewards": []},
        )
