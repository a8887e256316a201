"""A tokenizer learnt from the lessons: byte pairs within a line, with every digit a token of its own.

Extents and strides are the part of a pass that has to be computed, not repeated; a model that sees digits can copy any number.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

SPECIAL = ("<pad>", "<graph>", "<passes>", "<end>")
PAD, GRAPH, PASSES, END = range(len(SPECIAL))
_CHUNK = re.compile(r"\d|[^\d\n]+\n?|\n")


class Tokenizer:
    """Text to tokens and back. Characters outside of printable ASCII become `?`."""

    def __init__(self, merges: list[tuple[str, str]]) -> None:
        self.merges = merges
        base = [chr(code) for code in range(32, 127)] + ["\n"]
        self.tokens = [*SPECIAL, *base, *(first + second for first, second in merges)]
        self._numbers = {token: number for number, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {}

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> Tokenizer:
        """Learns as many merges as make `size` tokens, the most frequent pair first."""
        counts = Counter(chunk for text in texts for chunk in _CHUNK.findall(plain(text)))
        words = [(list(chunk), count) for chunk, count in counts.items() if len(chunk) > 1]
        pairs: Counter[tuple[str, str]] = Counter()
        places: dict[tuple[str, str], set[int]] = defaultdict(set)
        for index, (word, count) in enumerate(words):
            for pair in itertools.pairwise(word):
                pairs[pair] += count
                places[pair].add(index)
        merges: list[tuple[str, str]] = []
        while len(merges) < size - len(cls([]).tokens) and pairs:
            best = max(pairs, key=lambda pair: (pairs[pair], pair))
            if pairs[best] < 2:
                break
            merges.append(best)
            for index in places.pop(best):
                word, count = words[index]
                for pair in itertools.pairwise(word):
                    pairs[pair] -= count
                word[:] = _merged(word, best)
                for pair in itertools.pairwise(word):
                    pairs[pair] += count
                    places[pair].add(index)
            del pairs[best]
        return cls(merges)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        return cls([tuple(pair) for pair in json.loads(path.read_text())["merges"]])

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"schema_version": 1, "merges": self.merges}))

    def encode(self, text: str) -> list[int]:
        return [number for chunk in _CHUNK.findall(plain(text)) for number in self._chunk(chunk)]

    def decode(self, numbers: Iterable[int]) -> str:
        return "".join(self.tokens[number] for number in numbers if number >= len(SPECIAL))

    def _chunk(self, chunk: str) -> list[int]:
        known = self._known.get(chunk)
        if known is None:
            word = list(chunk)
            while len(word) > 1:
                ranked = [(self._ranks.get(pair, len(self._ranks)), pair) for pair in itertools.pairwise(word)]
                rank, pair = min(ranked)
                if rank == len(self._ranks):
                    break
                word = _merged(word, pair)
            known = self._known[chunk] = [self._numbers[token] for token in word]
        return known


def plain(text: str) -> str:
    """Replaces characters that have no token."""
    return re.sub(r"[^\x20-\x7e\n]", "?", text)


def _merged(word: list[str], pair: tuple[str, str]) -> list[str]:
    result: list[str] = []
    for token in word:
        if result and (result[-1], token) == pair:
            result[-1] += token
        else:
            result.append(token)
    return result
