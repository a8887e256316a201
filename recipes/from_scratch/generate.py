"""Writes passes of a checkpoint for tasks.

    python recipes/from_scratch/generate.py DATA CHECKPOINT OUT --tasks practice.json --samples 2

DATA is what `prepare.py` wrote, CHECKPOINT what `train.py` wrote. OUT gets one pass directory per task; `dir:OUT` is an author.
With `--samples`, OUT-1, OUT-2 ... get them. `OUT.json` has the answers as they were.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from lessons import write_passes
from model import Decoder, Shape
from tokenizer import END, GRAPH, PASSES, Tokenizer


class Writer:
    """Writes the passes of a model for tasks. `arguments` are those that `add_arguments` defines."""

    def __init__(self, model: Decoder, tokenizer: Tokenizer, arguments: argparse.Namespace) -> None:
        self.model, self.tokenizer, self.arguments = model, tokenizer, arguments
        tasks = json.loads((arguments.data / arguments.tasks).read_text())
        self.tasks = tasks[: arguments.first or None]

    @torch.no_grad()
    def write(self, folder: Path, samples: int = 0) -> int:
        """Writes passes for all tasks, and returns for how many. A task that is too long or cannot be read gets none.

        With `samples`, writes folders FOLDER-1, FOLDER-2 ... of answers that are drawn, instead of FOLDER with the most likely one.
        """
        self.model.eval()
        if self.arguments.device == "cuda":
            torch.cuda.empty_cache()
        folders = [folder.with_name(f"{folder.name}-{number + 1}") for number in range(samples)] or [folder]
        prompts = {}
        for task in self.tasks:
            tokens = [GRAPH, *self.tokenizer.encode(task["prompt"]), PASSES] if task["prompt"] else []
            if 0 < len(tokens) <= self.model.shape.context - self.arguments.generate_tokens:
                prompts[task["id"]] = tokens
        texts = {task["id"]: task["prompt"] for task in self.tasks}
        # Prompts of similar length together: each batch is padded to its longest.
        order = [(place, task) for task in sorted(prompts, key=lambda task: len(prompts[task])) for place in folders]
        size, room = self.arguments.generate_batch, self.arguments.generate_tokens
        temperature = self.arguments.temperature if samples else 0.0
        written: dict[Path, dict[str, str]] = {place: {} for place in folders}
        for first in range(0, len(order), size):
            batch = order[first : first + size]
            with self.precision():
                answers = self.model.generate([prompts[task] for _, task in batch], END, room, temperature)
            for (place, task), answer in zip(batch, answers, strict=True):
                write_passes(place / task, self.tokenizer.decode(answer), texts[task])
                written[place][task] = self.tokenizer.decode(answer)
        for place, answers in written.items():
            place.mkdir(parents=True, exist_ok=True)
            place.with_name(f"{place.name}.json").write_text(json.dumps(answers))
        self.model.train()
        return len(prompts)

    def precision(self) -> torch.autocast:
        return torch.autocast(self.arguments.device, torch.bfloat16, enabled=self.arguments.device == "cuda")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--tasks", default="tasks.json", help="file of DATA with the prompts")
    parser.add_argument("--first", type=int, default=0, help="only the first tasks; 0 for all")
    parser.add_argument(
        "--samples", type=int, default=0, help="answers to draw for each task; 0 takes the most likely one"
    )
    parser.add_argument("--temperature", type=float, default=0.7, help="of answers that are drawn")
    parser.add_argument("--generate-batch", type=int, default=256)
    parser.add_argument("--generate-tokens", type=int, default=1024, help="most tokens of one answer")
    parser.add_argument("--seed", type=int, default=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    add_arguments(parser)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    saved = torch.load(arguments.checkpoint, map_location=arguments.device)
    model = Decoder(Shape(**saved["shape"])).to(arguments.device)
    model.load_state_dict(saved["model"])
    writer = Writer(model, Tokenizer.load(arguments.data / "tokenizer.json"), arguments)
    written = writer.write(arguments.out, arguments.samples)
    print(f"passes for {written} tasks")


if __name__ == "__main__":
    main()
