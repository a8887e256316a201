"""The baseline that memorisation must be compared with: for each task, the passes of the most similar training graph.

    python recipes/from_scratch/nearest.py DATA OUT

DATA is what `prepare.py` wrote. OUT gets one pass directory per task; `dir:OUT` is an author.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
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
    arguments = parser.parse_args()
    tokenizer = Tokenizer.load(arguments.data / "tokenizer.json")
    lessons = decoded(tokenizer, arguments.data / "lessons.npz")
    bags = [Counter(parts(prompt)) for prompt, _ in lessons]
    similar = 0.0
    tasks = [task for task in json.loads((arguments.data / "tasks.json").read_text()) if task["prompt"]]
    for task in tasks:
        best, similarity = nearest(task["prompt"], lessons, bags)
        similar += similarity
        write_passes(arguments.out / task["id"], lessons[best][1])
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


def nearest(prompt: str, lessons: list[tuple[str, str]], bags: list[Counter[str]]) -> tuple[int, float]:
    """Returns the number of the most similar lesson, and its similarity from 0 to 1.

    Candidates are those that share most lines; among them the longest common text decides.
    """
    bag = Counter(parts(prompt))
    words = Counter(_words(prompt))

    def coarse(index: int) -> tuple[float, float]:
        shared = sum((bag & bags[index]).values()) / max(sum(bag.values()), sum(bags[index].values()))
        return shared, -abs(len(lessons[index][0]) - len(prompt))

    def fine(index: int) -> float:
        return SequenceMatcher(None, prompt, lessons[index][0], autojunk=False).ratio()

    by_lines = sorted(range(len(lessons)), key=coarse, reverse=True)[: CANDIDATES // 2]
    by_words = sorted(range(len(lessons)), key=lambda index: _overlap(words, lessons[index][0]), reverse=True)
    best = max({*by_lines, *by_words[: CANDIDATES // 2]}, key=fine)
    return best, fine(best)


_WORDS: dict[str, Counter[str]] = {}


def _words(text: str) -> list[str]:
    return [word for word in text.replace("(", " ").replace(",", " ").split() if not word.startswith("tmp_")]


def _overlap(words: Counter[str], text: str) -> float:
    other = _WORDS.setdefault(text, Counter(_words(text)))
    return sum((words & other).values()) / max(sum(words.values()), sum(other.values()), 1)


if __name__ == "__main__":
    main()
