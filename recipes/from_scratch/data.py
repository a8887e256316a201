"""Lessons as packed batches: whole lessons one after the other in one row of tokens, without padding between them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from tokenizer import PAD
from torch import Tensor

PROMPT_WEIGHT = 0.1
"""Weight of the loss on tokens of graphs; types follow from the statements, so there is something to learn."""
SHORTEST = 32
"""Lessons of a batch are at most `tokens // SHORTEST`, so that all batches have the same shapes."""


@dataclass(frozen=True)
class Batch:
    """Some lessons: tokens [T], where each of them begins, and the weight of the loss on the token after each."""

    tokens: Tensor
    positions: Tensor
    begins: Tensor
    """int32 [lessons + 1], from 0 to T; repeated T at the end where there are fewer lessons."""
    weights: Tensor

    def to(self, device: str) -> Batch:
        return Batch(*(part.to(device, non_blocking=True) for part in vars(self).values()))


@dataclass
class Lessons:
    """All lessons as one array of tokens."""

    tokens: numpy.ndarray
    begins: numpy.ndarray
    prompts: numpy.ndarray
    lengths: numpy.ndarray
    train: list[int]
    validation: list[int]
    randomness: random.Random

    @classmethod
    def load(cls, path: Path, seed: int) -> Lessons:
        """Reads lessons. Those of every fiftieth task, with all variants, are for validation."""
        data = numpy.load(path)
        lengths = data["prompts"] + data["answers"]
        begins = numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]])
        tasks = [str(name).split("--")[0] for name in data["names"]]
        held = set(sorted(set(tasks))[::50])
        rows = {chosen: [i for i, task in enumerate(tasks) if (task in held) == chosen] for chosen in (True, False)}
        tokens = data["tokens"].astype(numpy.int64)
        return cls(tokens, begins, data["prompts"], lengths, rows[False], rows[True], random.Random(seed))

    @property
    def longest(self) -> int:
        return int(self.lengths.max())

    def add(self, pairs: list[tuple[list[int], list[int]]], repeats: int) -> None:
        """Adds lessons, each a prompt and an answer, to those of training, `repeats` times in each epoch."""
        for prompt, answer in pairs:
            self.train += [len(self.lengths)] * repeats
            self.begins = numpy.append(self.begins, len(self.tokens))
            self.prompts = numpy.append(self.prompts, len(prompt))
            self.lengths = numpy.append(self.lengths, len(prompt) + len(answer))
            self.tokens = numpy.append(self.tokens, [*prompt, *answer])

    def epochs(self, size: int) -> Iterator[Batch]:
        """Yields batches of `size` tokens without end."""
        while True:
            order = self.train[:]
            self.randomness.shuffle(order)
            yield from self.batches(order, size)

    def batches(self, order: list[int], size: int) -> Iterator[Batch]:
        """Yields the lessons in this order as batches of `size` tokens, without those that are longer."""
        rows: list[int] = []
        used = 0
        for row in order:
            if self.lengths[row] > size:
                continue
            if used + self.lengths[row] > size or len(rows) == size // SHORTEST:
                yield self.batch(rows, size)
                rows, used = [], 0
            rows.append(row)
            used += self.lengths[row]
        if rows:
            yield self.batch(rows, size)

    def batch(self, rows: list[int], size: int) -> Batch:
        tokens = numpy.full(size, PAD)
        positions = numpy.zeros(size, dtype=numpy.int64)
        weights = numpy.zeros(size, dtype=numpy.float32)
        begins = numpy.full(size // SHORTEST + 2, size, dtype=numpy.int32)
        at = 0
        for number, row in enumerate(rows):
            length, prompt = int(self.lengths[row]), int(self.prompts[row])
            begins[number] = at
            tokens[at : at + length] = self.tokens[self.begins[row] : self.begins[row] + length]
            positions[at : at + length] = numpy.arange(length)
            weights[at : at + prompt - 1] = PROMPT_WEIGHT
            # The last token of a prompt predicts the first of the answer, and the last of an answer nothing.
            weights[at + prompt - 1 : at + length - 1] = 1.0
            at += length
        # The rest is one more sequence, in pieces so that none is longer than the longest lesson.
        begins[len(rows)] = at
        for number, begin in enumerate(range(at, size, self.longest), len(rows)):
            if number < len(begins):
                begins[number] = begin
        return Batch(*map(torch.from_numpy, (tokens, positions, begins, weights)))
