"""Supervised fine-tuning on trajectories: TRL's trainer, loss on the model's own messages only.

    python recipes/sft/train.py --config recipes/sft/config.json

README.md in this folder describes how to make the data. Every key of the configuration is also a flag.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

MASKED = -100


def main() -> None:
    settings = parse()
    files = {name: settings[name] for name in ("train", "validation") if settings.get(name)}
    for path in files.values():
        check_export(Path(path))
    # These imports take tens of seconds, so wrong files are found before.
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import SFTConfig, SFTTrainer

    tokenizer = AutoTokenizer.from_pretrained(settings["model"])
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    data = load_dataset("json", data_files=files)
    limit = settings["max_length"]
    data = data.map(
        lambda row: tokens_of(tokenizer, row, limit),
        remove_columns=data["train"].column_names,
        load_from_cache_file=False,
    )
    # A conversation that is cut off before the model's first message has nothing to learn from.
    data = data.filter(lambda row: any(label != MASKED for label in row["labels"]), load_from_cache_file=False)
    arguments = SFTConfig(
        output_dir=settings["out"],
        learning_rate=settings["learning_rate"],
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr": settings["min_learning_rate"]},
        # A value below 1 is a share of all steps.
        warmup_steps=settings["warmup_ratio"],
        num_train_epochs=settings["epochs"],
        max_steps=settings["max_steps"],
        per_device_train_batch_size=1,
        gradient_accumulation_steps=settings["batch"],
        gradient_checkpointing=settings["gradient_checkpointing"],
        bf16=settings["bf16"],
        max_length=limit,
        logging_steps=1,
        save_strategy="no" if settings["max_steps"] > 0 else "epoch",
        eval_strategy="epoch" if "validation" in data else "no",
        report_to=[],
        seed=settings["seed"],
    )
    model = AutoModelForCausalLM.from_pretrained(settings["model"])
    trainer = SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=data["train"],
        eval_dataset=data.get("validation"),
        processing_class=tokenizer,
        peft_config=lora(settings["lora_rank"]),
    )
    trainer.train()
    trainer.save_model(settings["out"])
    tokenizer.save_pretrained(settings["out"])
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    Path(settings["out"], "losses.json").write_text(json.dumps({"schema_version": 1, "losses": losses}))
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f} over {len(losses)} steps; model in {settings['out']}")


def check_export(path: Path) -> None:
    """Stops with advice if a file is not an export in chat form; the output of `traj split` is not one."""
    if not path.is_file():
        raise SystemExit(f"{path}: no such file; README.md describes how to make it")
    with path.open() as lines:
        row = json.loads(next(lines, "{}"))
    if not {"messages", "tools", "loss_mask"} <= row.keys():
        raise SystemExit(f"{path}: not training data; run `passnet traj export {path} --out {path.stem}.chat.jsonl`")


def lora(rank: int) -> Any:
    """The configuration of low-rank adapters; `None` for rank 0, which trains all weights."""
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def tokens_of(tokenizer: Any, row: dict[str, Any], limit: int) -> dict[str, list[int]]:
    """Tokens of a conversation, and labels for the messages that `loss_mask` selects.

    The tokens of a message are those that the chat template adds for it. The template is applied to each prefix of the
    conversation that ends with such a message, so every template works that only appends.
    """
    messages = [{key: value for key, value in message.items() if value is not None} for message in row["messages"]]
    tools = json.loads(row["tools"]) or None

    def rendered(count: int, prompt: bool) -> str:
        return tokenizer.apply_chat_template(
            messages[:count], tools=tools, tokenize=False, add_generation_prompt=prompt
        )

    ids: list[int] = []
    labels: list[int] = []
    done = ""
    for index, learnt in enumerate(row["loss_mask"]):
        if not learnt:
            continue
        before, after = rendered(index, True), rendered(index + 1, False)
        if not before.startswith(done) or not after.startswith(before):
            raise ValueError("the chat template rewrites earlier messages; use one that only appends")
        context = tokenizer(before[len(done) :], add_special_tokens=False)["input_ids"]
        answer = tokenizer(after[len(before) :], add_special_tokens=False)["input_ids"]
        ids += context + answer
        labels += [MASKED] * len(context) + answer
        done = after
    return {"input_ids": ids[:limit], "attention_mask": [1] * min(len(ids), limit), "labels": labels[:limit]}


def parse() -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("config.json"))
    known, rest = parser.parse_known_args()
    settings = json.loads(known.config.read_text())
    for name, value in settings.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=_like(value), default=value)
    parser.add_argument("--max-steps", type=int, default=-1)
    given = vars(parser.parse_args(rest))
    return {name: value for name, value in given.items() if name != "config"}


def _like(value: Any) -> Any:
    if isinstance(value, bool):
        return lambda text: text.lower() in ("1", "true", "yes")
    return type(value)


if __name__ == "__main__":
    main()
