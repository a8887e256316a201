"""Trains a decoder from random weights on lessons, and writes passes for the evaluation tasks at checkpoints.

    python recipes/from_scratch/train.py DATA OUT --seconds 200 --device cuda

DATA is what `prepare.py` wrote. Plain PyTorch, one device. OUT gets

    curve.jsonl               loss on training and validation lessons over time
    passes/STEP/TASK/         passes for each task at each checkpoint; `dir:OUT/passes/STEP` is an author
    checkpoint.pt             the last weights
    summary.json              configuration, sizes, counts, times
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy
import torch
from lessons import write_passes
from model import Decoder, Shape
from tokenizer import END, GRAPH, PAD, PASSES, Tokenizer
from torch import Tensor
from torch.nn import functional as F

PROMPT_WEIGHT = 0.1
"""Weight of the loss on tokens of graphs; types follow from the statements, so there is something to learn."""
WINDOW = 2048
"""Lessons that are sorted by length together, so that a batch has little padding."""


def main() -> None:
    arguments = parse()
    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high")
    arguments.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.load(arguments.data / "tokenizer.json")
    tasks = json.loads((arguments.data / "tasks.json").read_text())
    lessons = Lessons.load(arguments.data / "lessons.npz", arguments.device, arguments.seed)
    shape = Shape(len(tokenizer.tokens), arguments.width, arguments.layers, arguments.heads, arguments.context)
    model = Decoder(shape).to(arguments.device)
    run = Run(arguments, model, tokenizer, tasks)
    run.checkpoint("step-0")
    with (arguments.out / "curve.jsonl").open("w") as curve:
        run.train(lessons, curve)
    torch.save({"shape": shape.as_dict(), "model": model.state_dict()}, arguments.out / "checkpoint.pt")
    summary = {
        "schema_version": 1,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "shape": shape.as_dict(),
        "configuration": {name: str(value) for name, value in vars(arguments).items()},
        "steps": run.steps,
        "tokens": run.tokens,
        "train_seconds": run.trained,
        "generate_seconds": run.generated,
        "device": torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu",
        "torch": torch.__version__,
    }
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=1))
    print(json.dumps(summary), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=200.0, help="time of training, without generation")
    parser.add_argument("--checkpoints", default="0.25,0.5,1", help="shares of the time at which passes are written")
    parser.add_argument("--tasks", type=int, default=0, help="only the first tasks; 0 for all")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--batch-tokens", type=int, default=1 << 15)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--generate-batch", type=int, default=200)
    parser.add_argument("--generate-tokens", type=int, default=1024, help="most tokens of one answer")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


@dataclass
class Lessons:
    """All lessons as one array of tokens on the device."""

    tokens: Tensor
    begins: numpy.ndarray
    prompts: numpy.ndarray
    lengths: numpy.ndarray
    train: list[int]
    validation: list[int]
    randomness: random.Random

    @classmethod
    def load(cls, path: Path, device: str, seed: int) -> Lessons:
        """Reads lessons. Those of every fiftieth task, with all variants, are for validation."""
        data = numpy.load(path)
        lengths = data["prompts"] + data["answers"]
        begins = numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]])
        tasks = [str(name).split("--")[0] for name in data["names"]]
        held = set(sorted(set(tasks))[::50])
        rows = {chosen: [i for i, task in enumerate(tasks) if (task in held) == chosen] for chosen in (True, False)}
        tokens = torch.from_numpy(data["tokens"].astype(numpy.int32)).to(device)
        return cls(tokens, begins, data["prompts"], lengths, rows[False], rows[True], random.Random(seed))

    def batches(self, size: int) -> list[list[int]]:
        """Returns one epoch: lists of lessons of similar length, of at most `size` tokens with padding."""
        order = self.train[:]
        self.randomness.shuffle(order)
        batches = []
        for first in range(0, len(order), WINDOW):
            window = sorted(order[first : first + WINDOW], key=lambda index: self.lengths[index])
            batch: list[int] = []
            for index in window:
                if batch and (len(batch) + 1) * self.lengths[index] > size:
                    batches.append(batch)
                    batch = []
                batch.append(index)
            batches.append(batch)
        self.randomness.shuffle(batches)
        return batches

    def batch(self, rows: list[int]) -> tuple[Tensor, Tensor]:
        """Returns tokens [batch, length] and weights of the loss on each of them."""
        device = self.tokens.device
        length = int(max(self.lengths[rows]))
        at = torch.arange(length, device=device)[None]
        begins, prompts, lengths = (
            torch.from_numpy(values[rows].astype(numpy.int64)).to(device)[:, None]
            for values in (self.begins, self.prompts, self.lengths)
        )
        inside = at < lengths
        tokens = self.tokens[(begins + at).clamp(max=len(self.tokens) - 1)].long().masked_fill(~inside, PAD)
        weights = torch.where(at < prompts, PROMPT_WEIGHT, 1.0) * inside
        return tokens, weights


class Run:
    """One training run with its clock."""

    def __init__(self, arguments: argparse.Namespace, model: Decoder, tokenizer: Tokenizer, tasks: list[dict]) -> None:
        self.arguments, self.model, self.tokenizer = arguments, model, tokenizer
        self.tasks = tasks[: arguments.tasks or None]
        matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
        others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        fused = arguments.device == "cuda"
        self.optimiser = torch.optim.AdamW(groups, lr=arguments.learning_rate, betas=(0.9, 0.95), fused=fused)
        self.steps = self.tokens = 0
        self.trained = self.generated = 0.0

    def train(self, lessons: Lessons, curve: IO[str]) -> None:
        """Trains for the given time. Time for checkpoints does not count."""
        shares = [float(share) for share in self.arguments.checkpoints.split(",")]
        began, losses = time.monotonic(), []
        while shares:
            for rows in lessons.batches(self.arguments.batch_tokens):
                share = self.trained / self.arguments.seconds
                losses.append(self.step(*lessons.batch(rows), share))
                if self.steps % 20 == 0:
                    self.synchronise()
                    mean = torch.stack(losses).mean().item()
                    losses.clear()
                    report(curve, step=self.steps, seconds=round(self.trained, 1), tokens=self.tokens, loss=mean)
                self.trained = time.monotonic() - began
                if self.trained >= shares[0] * self.arguments.seconds:
                    self.synchronise()
                    paused = time.monotonic()
                    loss = self.validate(lessons)
                    report(curve, step=self.steps, seconds=round(self.trained, 1), validation=loss)
                    self.checkpoint(f"share-{shares.pop(0):g}")
                    began += time.monotonic() - paused
                if not shares:
                    return

    def step(self, tokens: Tensor, weights: Tensor, share: float) -> Tensor:
        rate = self.arguments.learning_rate * min(1.0, (self.steps + 1) / 100)
        rate *= 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        loss = self.loss(tokens, weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.steps += 1
        self.tokens += tokens.numel()
        return loss.detach()

    def loss(self, tokens: Tensor, weights: Tensor) -> Tensor:
        with self.precision():
            logits = self.model(tokens[:, :-1])
        weights = weights[:, 1:].reshape(-1)
        losses = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].reshape(-1), reduction="none")
        return (losses * weights).sum() / weights.sum()

    @torch.no_grad()
    def validate(self, lessons: Lessons) -> float:
        """Returns the loss on lessons of tasks that are not trained on."""
        rows = sorted(lessons.validation, key=lambda index: lessons.lengths[index])[:512]
        parts = [self.loss(*lessons.batch(rows[first : first + 32])) for first in range(0, len(rows), 32)]
        return torch.stack(parts).mean().item() if parts else math.nan

    @torch.no_grad()
    def checkpoint(self, name: str) -> None:
        """Writes passes for all tasks."""
        began = time.monotonic()
        self.model.eval()
        folder = self.arguments.out / "passes" / name
        folder.mkdir(parents=True, exist_ok=True)
        prompts = {}
        for task in self.tasks:
            tokens = [GRAPH, *self.tokenizer.encode(task["prompt"]), PASSES] if task["prompt"] else []
            if 0 < len(tokens) <= self.model.shape.context - self.arguments.generate_tokens:
                prompts[task["id"]] = tokens
        # Prompts of similar length together: each batch is padded to its longest.
        order = sorted(prompts, key=lambda task: len(prompts[task]))
        size = self.arguments.generate_batch
        for first in range(0, len(order), size):
            batch = order[first : first + size]
            with self.precision():
                answers = self.model.generate([prompts[task] for task in batch], END, self.arguments.generate_tokens)
            for task, answer in zip(batch, answers, strict=True):
                write_passes(folder / task, self.tokenizer.decode(answer))
        self.model.train()
        self.generated += time.monotonic() - began
        print(f"{name}: passes for {len(order)} of {len(self.tasks)} tasks", flush=True)

    def precision(self) -> torch.autocast:
        return torch.autocast(self.arguments.device, torch.bfloat16, enabled=self.arguments.device == "cuda")

    def synchronise(self) -> None:
        if self.arguments.device == "cuda":
            torch.cuda.synchronize()


def report(curve: IO[str], **values: float) -> None:
    """Writes one point of the curve at once, so that an interrupted run keeps it."""
    line = json.dumps(values)
    curve.write(line + "\n")
    curve.flush()
    print(line, flush=True)


if __name__ == "__main__":
    main()
