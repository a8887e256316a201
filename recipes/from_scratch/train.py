"""Trains a decoder from random weights on lessons, and writes passes for the evaluation tasks at checkpoints.

    python recipes/from_scratch/train.py DATA OUT --seconds 200 --device cuda

DATA is what `prepare.py` wrote. Plain PyTorch, one device. OUT gets

    curve.jsonl               losses over time and checkpoints (docs/reference/training-curves.md)
    passes/STEP/TASK/         passes for each task at each checkpoint; `dir:OUT/passes/STEP` is an author
    checkpoint.pt             the last weights
    summary.json              configuration, sizes, counts, times
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import IO

import model
import torch
from data import Batch, Lessons
from generate import Writer, add_arguments
from lessons import from_pairs
from model import Decoder, Shape
from tokenizer import Tokenizer
from torch import Tensor
from torch.nn import functional as F


def main() -> None:
    arguments = parse()
    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high")
    arguments.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.load(arguments.data / "tokenizer.json")
    lessons = Lessons.load(arguments.data / "lessons.npz", arguments.seed)
    if arguments.device == "cuda":
        check_attention()
    decoder = Decoder(shape_of(arguments, len(tokenizer.tokens))).to(arguments.device)
    if arguments.begin:
        decoder.load_state_dict(torch.load(arguments.begin, map_location=arguments.device)["model"])
    if arguments.extra:
        pairs = from_pairs(arguments.extra, tokenizer)
        fitting = [pair for pair in pairs if len(pair[0]) + len(pair[1]) <= min(decoder.shape.context, lessons.longest)]
        lessons.add(fitting, arguments.repeats)
    run = Run(arguments, decoder, lessons, Writer(decoder, tokenizer, arguments))
    if not arguments.begin:
        run.write("step-0")
    with (arguments.out / "curve.jsonl").open("w") as curve:
        report(curve, event="started", schema_version=1, name=arguments.label or arguments.out.name)
        run.train(curve)
    (arguments.out / "summary.json").write_text(json.dumps(run.summary(), indent=1))
    print(json.dumps(run.summary()), flush=True)


def check_attention() -> None:
    """Compares the attention of this device with the plain one, forward and backward; falls back to the plain one if they differ."""
    begins = torch.tensor([0, 70, 71, 200, 256, 256], dtype=torch.int32, device="cuda")
    inputs = [torch.randn(256, 4, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    results = []
    for function in (
        lambda *each: model.attention(*each, begins, 129),
        lambda *each: model.padded_attention(*each, begins),
    ):
        try:
            out = function(*inputs)
            results.append([out, *torch.autograd.grad(out.square().sum(), inputs)])
        except RuntimeError as error:
            print(f"attention: {error}", flush=True)
    agree = len(results) == 2 and all(
        (ours - plain).float().norm() < 0.02 * plain.float().norm() for ours, plain in zip(*results, strict=True)
    )
    print(f"attention on this device agrees with the plain one: {agree}", flush=True)
    if not agree:
        model.attention = lambda query, key, value, begins, _: model.padded_attention(query, key, value, begins)


def shape_of(arguments: argparse.Namespace, vocabulary: int) -> Shape:
    if arguments.begin:
        return Shape(**torch.load(arguments.begin, map_location="cpu")["shape"])
    sizes = (arguments.width, arguments.layers, arguments.heads, arguments.context, arguments.dropout)
    return Shape(vocabulary, *sizes)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=200.0, help="time of training, without generation")
    parser.add_argument("--checkpoints", default="0.25,0.5,1", help="shares of the time at which passes are written")
    parser.add_argument("--begin", type=Path, help="continue from this checkpoint, whose sizes count")
    parser.add_argument("--extra", type=Path, help="further lessons, as JSON lines with prompt and answer")
    parser.add_argument("--label", default="", help="name of this stage and of its last checkpoint in the curve")
    parser.add_argument("--repeats", type=int, default=1, help="how often each further lesson is in an epoch")
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=10)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--batch-tokens", type=int, default=1 << 16)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--compile", action="store_true", help="compile the blocks; pays after about 20 seconds")
    add_arguments(parser)
    return parser.parse_args()


class Run:
    """One training run with its clock."""

    def __init__(self, arguments: argparse.Namespace, model: Decoder, lessons: Lessons, writer: Writer) -> None:
        self.arguments, self.model, self.lessons, self.writer = arguments, model, lessons, writer
        if arguments.compile:
            torch._dynamo.config.suppress_errors = True
            for block in model.blocks:
                block.compile()
        matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
        others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        fused = arguments.device == "cuda"
        self.optimiser = torch.optim.AdamW(groups, lr=arguments.learning_rate, betas=(0.9, 0.95), fused=fused)
        self.steps = self.tokens = 0
        self.trained = self.generated = 0.0

    def train(self, curve: IO[str]) -> None:
        """Trains for the given time. Time for checkpoints does not count."""
        shares = [float(share) for share in self.arguments.checkpoints.split(",")]
        began, losses = time.monotonic(), []
        for batch in self.lessons.epochs(self.arguments.batch_tokens):
            losses.append(self.step(batch.to(self.arguments.device), self.trained / self.arguments.seconds))
            if self.steps % 20 == 0:
                mean = torch.stack(losses).mean().item()
                losses.clear()
                self.point(curve, tokens=self.tokens, loss=mean)
            self.trained = time.monotonic() - began
            if self.trained >= shares[0] * self.arguments.seconds:
                self.synchronise()
                paused = time.monotonic()
                self.point(curve, **self.validate())
                # First of all the weights, in case that the machine is removed while passes are written.
                self.save()
                name = f"share-{shares.pop(0):g}"
                self.write(name)
                report(curve, event="checkpoint", step=self.steps, author=self.arguments.label or name)
                if not shares and self.arguments.samples:
                    self.write("sample", self.arguments.samples)
                began += time.monotonic() - paused
            if not shares:
                return

    def save(self) -> None:
        saved = {"shape": self.model.shape.as_dict(), "model": self.model.state_dict()}
        torch.save(saved, self.arguments.out / "checkpoint.pt")

    def point(self, curve: IO[str], **values: float) -> None:
        """Writes figures of this step. A loss that is not finite has no number in JSON, so it is left out."""
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        report(curve, event="point", step=self.steps, seconds=round(self.trained, 1), **finite)

    def step(self, batch: Batch, share: float) -> Tensor:
        rate = self.arguments.learning_rate * min(1.0, (self.steps + 1) / 100)
        rate *= 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        losses = self.losses(batch)[0]
        loss = (losses * batch.weights).sum() / batch.weights.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.steps += 1
        self.tokens += batch.tokens.numel()
        return loss.detach()

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns the loss of each token, and whether it is the most likely one."""
        with self.writer.precision():
            logits = self.model(batch.tokens, batch.positions, batch.begins, self.lessons.longest)
        later = batch.tokens.roll(-1)
        return F.cross_entropy(logits.float(), later, reduction="none"), logits.detach().argmax(-1) == later

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Returns loss and share of most likely tokens in the answers of lessons whose tasks are not trained on."""
        rows = sorted(self.lessons.validation, key=lambda index: self.lessons.lengths[index])[:512]
        self.model.eval()
        losses, hits = [], []
        for batch in self.lessons.batches(rows, self.arguments.batch_tokens):
            on_device = batch.to(self.arguments.device)
            # Compiling for this too would take longer than it saves.
            with torch.compiler.set_stance("force_eager"):
                loss, hit = self.losses(on_device)
            losses.append(loss[on_device.weights == 1.0])
            hits.append(hit[on_device.weights == 1.0])
        self.model.train()
        if not losses:
            return {}
        return {"validation": torch.cat(losses).mean().item(), "likeliest": torch.cat(hits).float().mean().item()}

    def write(self, name: str, samples: int = 0) -> None:
        """Writes passes for all tasks."""
        began = time.monotonic()
        written = self.writer.write(self.arguments.out / "passes" / name, samples)
        self.generated += time.monotonic() - began
        print(f"{name}: passes for {written} tasks in {time.monotonic() - began:.1f} s", flush=True)

    def synchronise(self) -> None:
        if self.arguments.device == "cuda":
            torch.cuda.synchronize()

    def summary(self) -> dict[str, object]:
        return {
            "schema_version": 1,
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "shape": self.model.shape.as_dict(),
            "configuration": {name: str(value) for name, value in vars(self.arguments).items()},
            "steps": self.steps,
            "tokens": self.tokens,
            "lessons_per_epoch": len(self.lessons.train),
            "train_seconds": self.trained,
            "generate_seconds": self.generated,
            "device": torch.cuda.get_device_name() if self.arguments.device == "cuda" else "cpu",
            "torch": torch.__version__,
        }


def report(curve: IO[str], **values: float | str) -> None:
    """Writes one event of the curve (docs/reference/training-curves.md) at once, so that an interrupted run keeps it."""
    line = json.dumps(values)
    curve.write(line + "\n")
    curve.flush()
    print(line, flush=True)


if __name__ == "__main__":
    main()
