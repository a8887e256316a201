"""The baselines that memorisation must be compared with: for each task, the passes of the most similar training graphs.

    python recipes/from_scratch/nearest.py DATA OUT

DATA is what `prepare.py` wrote. OUT/copy-0 gets the passes of the most similar graph for each task, as they are; OUT/sketch-0 gets its
sketch, expanded for the graph of the task, as the answers of a model are. OUT/copy-1, OUT/sketch-1 and so on have the next ones.
`dir:OUT/copy-0` is an author.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from difflib import SequenceMatcher
from pathlib import Path

import numpy
from lessons import write_passes
from tokenizer import Tokenizer

CANDIDATES = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--neighbours", type=int, default=8, help="candidates for each task")
    arguments = parser.parse_args()
    tokenizer = Tokenizer.load(arguments.data / "tokenizer.json")
    lessons = decoded(tokenizer, arguments.data / "lessons.npz")
    index = Index([prompt for prompt, _ in lessons])
    similar = 0.0
    tasks = [task for task in json.loads((arguments.data / "tasks.json").read_text()) if task["prompt"]]
    for task in tasks:
        ranked = index.nearest(task["prompt"])[: arguments.neighbours]
        similar += ranked[0][0]
        for place, (_, number) in enumerate(ranked):
            prompt, answer = lessons[number]
            write_passes(arguments.out / f"copy-{place}" / task["id"], answer, prompt)
            write_passes(arguments.out / f"sketch-{place}" / task["id"], answer, task["prompt"])
    print(f"{len(tasks)} tasks; similarity to the nearest training graph {similar / len(tasks):.3f} on average")


def decoded(tokenizer: Tokenizer, path: Path) -> list[tuple[str, str]]:
    """Returns prompt and answer of each lesson."""
    data = numpy.load(path)
    tokens, texts, begin = data["tokens"], [], 0
    for prompt, answer in zip(data["prompts"], data["answers"], strict=True):
        middle, end = begin + prompt, begin + prompt + answer
        texts.append((tokenizer.decode(tokens[begin:middle]), tokenizer.decode(tokens[middle:end])))
        begin = end
    return texts


def parts(prompt: str) -> list[str]:
    """Returns the lines of a graph without the names of values: what is computed, from and to which types."""
    lines = []
    for line in prompt.splitlines():
        statement, _, kind = line.partition("  # ")
        lines.append(f"{statement.partition(' = ')[2] or statement.partition(': ')[2]}  # {kind}")
    return lines


class Index:
    """Prompts of training graphs, by the lines and the words that they have."""

    def __init__(self, prompts: list[str]) -> None:
        self.prompts = prompts
        self.lines, self.words = Bags(map(parts, prompts)), Bags(map(_words, prompts))

    def nearest(self, prompt: str) -> list[tuple[float, int]]:
        """Returns similarities from 0 to 1 and numbers of prompts, the most similar first.

        Candidates are those that share most lines and most words; among them the longest common text decides.
        """
        half = CANDIDATES // 2
        found = {*self.lines.nearest(parts(prompt), half), *self.words.nearest(_words(prompt), half)}
        match = SequenceMatcher(None, "", prompt, autojunk=False)
        ranked = []
        for number in sorted(found):
            match.set_seq1(self.prompts[number])
            ranked.append((match.ratio(), number))
        return sorted(ranked, key=lambda each: (-each[0], each[1]))


class Bags:
    """Bags of texts, and for each text the bags that have it."""

    def __init__(self, bags: Iterable[list[str]]) -> None:
        self.sizes: list[int] = []
        self.places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, bag in enumerate(bags):
            self.sizes.append(max(len(bag), 1))
            for text, count in Counter(bag).items():
                self.places[text].append((number, count))

    def nearest(self, bag: list[str], count: int) -> list[int]:
        """Returns the bags that share the largest part with this one."""
        shared: Counter[int] = Counter()
        for text, times in Counter(bag).items():
            for number, there in self.places.get(text, ()):
                shared[number] += min(times, there)
        ranked = sorted(shared, key=lambda number: (-shared[number] / max(len(bag), self.sizes[number]), number))
        return ranked[:count]


def _words(text: str) -> list[str]:
    return [word for word in text.replace("(", " ").replace(",", " ").split() if not word.startswith("tmp_")]


if __name__ == "__main__":
    main()
