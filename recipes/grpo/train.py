"""Reinforcement learning with PassNet's reward: TRL's GRPO trainer, tools in the environment.

    passnet env serve suites/passbench-train --device cuda --steps 20 --listen 127.0.0.1:8801
    python recipes/grpo/train.py --config recipes/grpo/config.json

README.md in this folder has requirements and estimates. Every key of the configuration is also a flag.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
from pathlib import Path
from typing import Any

from passnet.trainers.rollout import Servers
from passnet.trainers.trl import PassEnvironment, dataset


def main() -> None:
    settings = parse()
    servers = Servers.of(settings["urls"], settings["timeout_s"])
    rows = dataset(servers)
    if not len(rows):
        raise SystemExit(f"{settings['urls']}: the server has no tasks; check its --filter")
    from trl import GRPOTrainer

    trainer = GRPOTrainer(
        model=settings["model"],
        args=configuration(settings),
        train_dataset=rows,
        environment_factory=functools.partial(PassEnvironment, servers),
        peft_config=lora(settings["lora_rank"]),
    )
    trainer.train()
    trainer.save_model(settings["out"])
    trainer.processing_class.save_pretrained(settings["out"])
    rewards = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    Path(settings["out"], "rewards.json").write_text(json.dumps({"schema_version": 1, "rewards": rewards}))
    write_curve(Path(settings["out"], "curve.jsonl"), trainer.state.log_history)
    print(f"reward {rewards[0]:.3f} -> {rewards[-1]:.3f} over {len(rewards)} steps; model in {settings['out']}")


def write_curve(path: Path, history: list[dict[str, Any]]) -> None:
    """Writes the rewards and losses of the steps as a training curve (docs/reference/training-curves.md)."""
    lines: list[dict[str, Any]] = [{"event": "started", "schema_version": 1, "name": "grpo"}]
    for entry in history:
        values = {name: entry[name] for name in ("reward", "loss") if math.isfinite(entry.get(name, math.nan))}
        if values:
            lines.append({"event": "point", "step": entry["step"], **values})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def configuration(settings: dict[str, Any]) -> Any:
    """Returns the configuration of TRL. A step has `prompts_per_step` groups of `generations` rollouts."""
    from trl import GRPOConfig

    return GRPOConfig(
        output_dir=settings["out"],
        learning_rate=settings["learning_rate"],
        max_steps=settings["max_steps"],
        per_device_train_batch_size=settings["generations"],
        gradient_accumulation_steps=settings["prompts_per_step"],
        num_generations=settings["generations"],
        max_completion_length=settings["max_completion_length"],
        max_tool_calling_iterations=settings["tool_iterations"],
        temperature=settings["temperature"],
        beta=settings["beta"],
        # Division by the deviation of the group would blow up differences that are noise of the timing.
        scale_rewards="none",
        use_vllm=settings["vllm"],
        bf16=settings["bf16"],
        gradient_checkpointing=settings["gradient_checkpointing"],
        use_cpu=not settings["bf16"],
        logging_steps=1,
        save_steps=50,
        report_to=[],
        seed=settings["seed"],
    )


def lora(rank: int) -> Any:
    """Returns the configuration of low-rank adapters; `None` for rank 0, which trains all weights."""
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def parse() -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("config.json"))
    known, rest = parser.parse_known_args()
    for name, value in json.loads(known.config.read_text()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=_like(value), default=value)
    return {name: value for name, value in vars(parser.parse_args(rest)).items() if name != "config"}


def _like(value: Any) -> Any:
    if isinstance(value, bool):
        return lambda text: text.lower() in ("1", "true", "yes")
    return type(value)


if __name__ == "__main__":
    main()
