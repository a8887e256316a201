"""A tokenizer learnt from the lessons: byte pairs within a number, within a name that has a number, and within the text between them.

Extents, strides and names are what differs between passes. Each has the same tokens wherever it occurs, so that it can be copied; the text
between them, over several lines where it is always the same, becomes few tokens.
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
_CHUNK = re.compile(r"([A-Za-z_]*\d\w*)")
LONGEST = 300
"""Characters of the longest chunk that tokens are learnt from; longer text is cut at its lines."""


class Tokenizer:
    """Text to tokens and back. Characters outside of printable ASCII become `?`."""

    def __init__(self, merges: list[tuple[str, str]], blocks: list[str] | None = None) -> None:
        self.merges, self.blocks = merges, blocks or []
        base = [chr(code) for code in range(32, 127)] + ["\n"]
        self.tokens = [*SPECIAL, *base, *(first + second for first, second in merges), *self.blocks]
        self._numbers = {token: number for number, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._known: dict[str, list[int]] = {block: [self._numbers[block]] for block in self.blocks}
        self._split = re.compile("|".join(f"({re.escape(block)})" for block in self.blocks) or "(?!)")

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> Tokenizer:
        """Learns helper functions, and as many merges as make `size` tokens, the most frequent pair first."""
        texts = list(texts)
        blocks = helpers(texts)
        split = cls([], blocks)
        counts = Counter(chunk for text in texts for chunk in split.chunks(text) if chunk not in split._known)
        words = [(list(chunk), count) for chunk, count in counts.items() if len(chunk) > 1]
        pairs: Counter[tuple[str, str]] = Counter()
        places: dict[tuple[str, str], set[int]] = defaultdict(set)
        for index, (word, count) in enumerate(words):
            for pair in itertools.pairwise(word):
                pairs[pair] += count
                places[pair].add(index)
        merges: list[tuple[str, str]] = []
        while len(merges) < size - len(split.tokens) and pairs:
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
        return cls(merges, blocks)

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        saved = json.loads(path.read_text())
        return cls([tuple(pair) for pair in saved["merges"]], saved["blocks"])

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"schema_version": 1, "merges": self.merges, "blocks": self.blocks}))

    def encode(self, text: str) -> list[int]:
        return [number for chunk in self.chunks(text) for number in self._chunk(chunk)]

    def decode(self, numbers: Iterable[int]) -> str:
        return "".join(self.tokens[number] for number in numbers if number >= len(SPECIAL))

    def chunks(self, text: str) -> list[str]:
        """Returns the parts of a text that are tokenized each for itself; together they are the text."""
        found: list[str] = []
        for part in self._split.split(plain(text)):
            for chunk in [part] if part is None or part in self._known else _CHUNK.split(part):
                if chunk:
                    whole = len(chunk) <= LONGEST or chunk in self._known
                    found += [chunk] if whole else chunk.splitlines(keepends=True)
        return found

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


def helpers(texts: list[str]) -> list[str]:
    """Returns top-level definitions that many lessons have word for word and that are not about their graph. Each is one token."""
    counts = Counter(block for text in texts for block in set(plain(text).split("\n\n\n")))
    own = re.compile(r"def kernel\d|^# ", re.MULTILINE)
    return sorted(
        (
            block
            for block, count in counts.items()
            if count >= max(4, len(texts) // 200) and len(block) >= 60 and not own.search(block)
        ),
        key=lambda block: (-len(block), block),
    )


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
