"""Random disguises of forbidden behaviour in the Python of passes: the lint may accept none that behaves so.

    python fuzz/passes.py --seconds 600 --passnet target/debug/passnet

Takes a payload (an operator of tensors, or a place where a tensor outlives the call), and hides the tensor behind random containers,
classes, closures, partial functions, iterators and statements. Some payloads change a list that outlives the call. A program that the
lint accepts is run: it escapes if an operator computes with a tensor, if its second call returns something else than the first, or if
a tensor outlives the call. The same program without its payload has to be accepted in most cases: their share shows that the disguises
are not refused for other reasons. Exits with 1 if a program escapes. Needs `PYTHONPATH=python`, as the tests do.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
import types
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from passnet._monitor.intercept import PERMITTED

BATCH = 150

PRELUDE = """import functools
import itertools
import operator
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import NamedTuple

import torch

KEPT = [0]
TABLE = {"k": 1}
TABLES = {"n": 1, "k": KEPT, "m": {"k": KEPT, "n": 2}}


class Mode(Enum):
    A = 1


class Pair(NamedTuple):
    left: object
    right: object = None

    def swapped(self):
        return Pair(self.right, self.left)


Single = namedtuple("Single", ["only"])
Defaulted = namedtuple("Defaulted", ["value"], defaults=[KEPT])


@dataclass
class Box:
    item: object = None
    items: list = field(default_factory=list)

    @property
    def read(self):
        return self.item

    def get(self):
        return self.item

    @classmethod
    def made(cls, value):
        return cls(item=value)

    def __call__(self):
        return self.item


class Group:
    limit = 3
    kept = []

    @staticmethod
    def same(value):
        return value


@dataclass
class Store:
    item: object = None
    items: list = field(default_factory=list)


SHARED = Store()


def same(q, other=None):
    return q


def many(*given):
    return given


def named(**given):
    return given


def last(*given):
    return given[-1]


def make(value):
    def made():
        return value

    return made


def collect(value, into=[]):
    return into


@functools.lru_cache(maxsize=None)
def count(n):
    return n + 1


@functools.cache
def stored():
    return []


@functools.cache
def cached(n):
    return Store(n, [n])


def shared_list():
    kept = []

    def read():
        return kept

    return read


read_list = shared_list()
read_number = make(1)
"""

ENTRY = """

def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def replacement_func():
    return fused
"""

# `V` is the expression so far; a tensor goes in, the same one or a view of it comes out.
# fmt: off
CARRIERS = (
    "[V][0]", "(V, 1)[0]", "(1, V)[-1]", '{"k": V}["k"]', '{"k": V}.get("k")', 'list({"k": V}.values())[0]', 'list({"k": V}.items())[0][1]',
    'dict(k=V)["k"]', 'dict([("k", V)])["k"]', '{**{"k": V}}["k"]', '({"a": 1} | {"k": V})["k"]', 'dict({"k": V})["k"]',
    '{"k": V}.copy()["k"]', "Pair(V, 1).left", "Pair(1, V).right", "Pair(V)[0]", "Pair(1, V).swapped().left", "Single(V).only", "Single(only=V)[0]",
    "Box(V).item", "Box(item=V).get()", "Box(V).read", "Box.made(V).item", "Box(V)()", "Box(items=[V]).items[0]", "Group.same(V)", "Group().same(V)",
    "(lambda q: q)(V)", "(lambda q=V: q)()", "partial(same, other=1)(V)", "same(V)", "same(*[V])", 'same(**{"q": V})', "same(*(V, 1))",
    "many(V)[0]", "many(1, *[V])[1]", 'named(k=V)["k"]', "list(map(same, [V]))[0]", "list(map(lambda q: q, (V,)))[0]", "[q for q in [V]][0]", "[*[V]][0]",
    "[a for a, b in zip([V], [1])][0]", "[b for a, b in enumerate([V])][0]", "list(itertools.product([V], [1]))[0][0]",
    "list(itertools.product([V], repeat=2))[0][1]", "list(itertools.chain([V]))[0]", "list(itertools.chain.from_iterable([[V]]))[0]",
    "list(itertools.repeat(V, 1))[0]", "list(itertools.zip_longest([V], [1, 2]))[0][0]", "list(itertools.islice([V], 1))[0]", "tuple(reversed([V]))[0]",
    "list(itertools.permutations([V, 1]))[0][0]", "(V if n else V)", "V.view(-1)", "V.T", "V.chunk(1)[0]", "torch.flatten(V)", "V[0:]",
    "torch.reshape(V, (-1,))", "V.contiguous()", "torch.transpose(V, 0, -1)", "[[V] for _ in range(1)][0][0]", '{k: V for k in ("a",)}["a"]',
    "([V] * 2)[1]", "([1] + [V])[1]", "((1,) + (V,))[1]", "[V, [V]][1][0]", "torch.unbind(V.view(1, -1))[0]", "list(same(q) for q in [V])[0]",
    "list(filter(lambda q: q.ndim, [V]))[0]", '{Mode.A: V}[Mode.A]', "list([V])[0:1][0]",
    "many(1, V)[-1]", "many(*many(V, 1))[0]", "many(1, *many(2, V))[2]", "last(1, V)", "last(*[V])", "last(*many(V), **{})", "many(many(V))[0][0]",
    '{"n": 1, "k": V}["k"]', 'dict(n=1, k=V)["k"]', '{"a": {"n": 1, "k": V}}["a"]["k"]', '({"k": V} if n else {"k": 1, "m": V})["k"]',
    '{"n": V, **{"k": V}}["k"]', "torch.broadcast_tensors(V, V)[0]", 'named(n=1, k=V)["k"]', '[{"k": V, "n": 1}][0]["k"]', 'same({"k": V, "n": 1})["k"]',
)
# `T` is the name that the statements bind, from the expression `V`.
STATEMENTS = (
    "T = V", "for T in [V]:\n    pass", "T, *_rest = (V, 1)", "*_rest, T = (1, V)", "T, _other = Pair(V, 1)", "[T, _other] = [V, V]",
    "_box = []\n_box.append(V)\nT = _box[0]", "_box = []\n_box.extend([V])\nT = _box[-1]", "_box = [1]\n_box[0:0] = [V]\nT = _box[0]",
    "_box = [1]\n_box.insert(0, V)\nT = _box.pop(0)", '_map = {}\n_map["k"] = V\nT = _map["k"]', '_map = {}\n_map.update(k=V)\nT = _map.get("k")',
    '_map = {}\n_map.update({"k": V})\nT = list(_map.values())[0]', '_map = {}\n_map |= {"k": V}\nT = _map["k"]', '_map = {}\nT = _map.setdefault("k", V)',
    "_box = [1]\n_box += [V]\nT = _box[1]", "def _inner():\n    return V\n\nT = _inner()", "def _inner(q=V):\n    return q\n\nT = _inner()",
    "if n:\n    T = V\nelse:\n    T = V", "while n:\n    T = V\n    break", "if (_w := V) is not None:\n    T = _w", "_f = lambda: V\nT = _f()",
    "_old = V\nT = _old\ndel _old", "match n:\n    case 0:\n        T = V\n    case _:\n        T = V", "for _i, T in enumerate([V]):\n    pass",
    'for _k, T in {"k": V}.items():\n    pass', "T: torch.Tensor = V", "with torch.no_grad():\n    T = V", "_p = Box(V)\nT = _p.item",
    'for T in named(k=V).values():\n    pass', "_f = partial(same, other=2)\nT = _f(V)", "for _a, (T, _b) in [(1, (V, 2))]:\n    pass",
    "_g = (q for q in [V])\nfor T in _g:\n    pass", "_c = Box\nT = _c(V).item", "import math\nT = V",
    '_map = {"k": 1}\n_map["k"] = V\nT = _map["k"]', '_map = {"k": 1}\n_same = _map\n_same["k"] = V\nT = _map["k"]', "*_rest, T = many(1, V)",
    '_map = {"k": 1, "l": V}\n_map.update(k=_map["l"])\nT = _map["k"]', '_map = dict(k=1)\n_map |= {"k": V}\nT = _map["k"]', "T, *_rest = many(V, 1, 2)",
    '_maps = [{"k": 1}]\n_maps[0]["k"] = V\nT = _maps[0]["k"]', '_map = {"k": 1}\nfor _key in ["k"]:\n    _map[_key] = V\nT = _map["k"]',
    "def _last(*q):\n    return q[-1]\n\n_last(1, 2)\nT = _last(V)", "def _all(*q):\n    return q\n\n_all(1)\n*_, T = _all(*[V])",
    '_map = {"k": 1}\n_map = {"k": V}\nT = _map["k"]', '_map = {"k": 1}\nif n:\n    _map = {"k": V}\nT = _map["k"]', "_a, *_b = many(1, V)\nT = _b[0]",
)
COMPUTING = (
    "T + T", "T * 2", "-T", "T @ T.view(-1, 1)", "abs(T)", "T.sum()", "sum([T, 1])", "operator.add(T, T)", "torch.add(T, T)", "T == T",
    "T.clone()", "functools.reduce(operator.add, [T, T])", "list(map(abs, [T]))", "max(T, T)", "list(map(operator.neg, [T]))", "float(T.view(-1)[0])",
    "T.to(torch.float64)", "[q + q for q in [T]]", "(lambda q: q * q)(T)", 'f"{T}"', "round(T)", "sorted([T, T])", "not T.view(-1)[0]",
    "T in [T, T]", "pow(T, 2)", "list(itertools.accumulate([T, T]))", "T ** 2", "T[T > 0]", "T.add_(1)", "1 if T.view(-1)[0] else 2", "count(T)",
)
KEEPING = (
    "KEPT.append(T)", "KEPT[:] = [T]", 'TABLE["k"] = T', "TABLE.update(k=T)", "SHARED.items.append(T)", "SHARED.item = T", "Group.kept.append(T)",
    "Group.limit = T", "Box.item = T", "fused.last = T", "collect(T).append(T)", "stored().append(T)", "read_list().append(T)", "Mode.A.kept = T",
    "count.last = T", "many.__defaults__ = (T,)", "Pair.left = T", "KEPT.extend(map(same, [T]))", "KEPT.insert(0, T)", 'TABLE.setdefault("t", T)',
    "_k = KEPT\n_k += [T]", "_k = [KEPT]\n_k[0].append(T)", "_k = Store(items=KEPT)\n_k.items.append(T)", "same(KEPT).append(T)", "(KEPT if n else []).append(T)",
    "for _k in [KEPT]:\n    _k.append(T)", "partial(same, q=KEPT)().append(T)", "make(KEPT)().append(T)", "Pair(KEPT).left.append(T)", "[*[KEPT]][0].append(T)",
    "setattr(SHARED, 'item', T)", "SHARED.__init__(T)", "KEPT.__iadd__([T])", "next(iter([KEPT])).append(T)", "_k = KEPT or []\n_k.append(T)",
)
# Changes of a list by a number. The wrapper returns as many elements as the list has.
COUNTING = (
    "_k = L\n_k += [1]", "_k = L\n_k *= 2", "L.append(1)", "L[:0] = [1]", "_k = L\n_k |= {1}", "for _k in [L]:\n    _k += [1]",
    "[L][0].extend([1])", "match L:\n    case _k:\n        _k += [1]", "match [L]:\n    case [_k]:\n        _k *= 2",
)
# The list `KEPT` in other words.
LISTS = (
    "KEPT", "max(KEPT, [0])", "max([KEPT])", "min([KEPT, [9]])", "sum([], KEPT)", "functools.reduce(lambda a, b: b, [KEPT, KEPT])",
    "functools.reduce(max, [KEPT, [0]])", "list(itertools.accumulate([KEPT]))[0]", "list(itertools.zip_longest([], [1], fillvalue=KEPT))[0][0]",
    "list(map(max, [KEPT], [[0]]))[0]", "list(filter(len, [KEPT]))[0]", "sorted([KEPT], key=len)[0]", "Pair(KEPT).left", "Store(items=KEPT).items",
    "same(KEPT)", "many(KEPT)[0]", "named(k=KEPT)['k']", "(KEPT or 1)", "(KEPT if n else 2)", "(lambda q=KEPT: q)()", "partial(same, q=KEPT)()",
    "make(KEPT)()", "list(itertools.repeat(KEPT, 1))[0]", "dict(k=KEPT)['k']", "{'k': KEPT}.get('k', 1)", "[*[KEPT]][0]", "Single(KEPT)[0]", "stored()",
    "read_list()", "SHARED.items", "Group.kept", "Defaulted().value", "collect(1)", "(max(KEPT, key=lambda q: q) if 0 else KEPT)", "Group().kept",
    "many(1, KEPT)[1]", "last(1, KEPT)", "last(*[KEPT])", '{"n": 1, "k": KEPT}["k"]', 'TABLES["k"]', 'TABLES["m"]["k"]', "[*many(KEPT)][0]", "cached(n).items",
)
# fmt: on


def indented(text: str, level: int = 1) -> str:
    return "\n".join("    " * level + line if line else line for line in text.split("\n"))


def program(seed: int) -> tuple[str, str, str]:
    """Returns a program with a payload, the same without it, and the payload."""
    rng = random.Random(seed)
    lines = ["n = x.numel()"]
    value = "x"
    for step in range(rng.randint(1, 3)):
        for _ in range(rng.randint(0, 3)):
            value = rng.choice(CARRIERS).replace("V", value)
        name = f"t{step}"
        lines.append(
            rng.choice(STATEMENTS).replace("V", value).replace("T", name) if rng.random() < 0.8 else f"{name} = {value}"
        )
        value = name
    kind = rng.random()
    if kind < 0.4:
        payload = rng.choice(COMPUTING).replace("T", value)
    elif kind < 0.7:
        payload = rng.choice(KEEPING).replace("T", value)
    else:
        payload = rng.choice(COUNTING).replace("L", rng.choice(LISTS).replace("KEPT", rng.choice(LISTS)))
    helper = rng.random() < 0.3
    if helper:
        # The payload is in a function that the wrapper calls.
        used = f"\n\ndef payload({value}, n):\n" + indented(payload) + "\n    return 1\n"
        call = f"payload({value}, n)"
    else:
        used, call = "", payload

    def written(definition: str, statement: str) -> str:
        result = "return torch.empty(len(KEPT) + len(stored()) + len(read_list()) + len(SHARED.items))"
        body = indented("\n".join([*lines, statement, result]))
        return f"{PRELUDE}{definition}\n\ndef fused(x, y):\n{body}\n{ENTRY}"

    return written(used, call), written("", f"same({value})"), payload


class Recorder(TorchDispatchMode):
    """Notes operators that compute."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if str(func.overloadpacket) not in PERMITTED or "_to_copy" in str(func):
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def misbehaves(text: str) -> str | None:
    """Runs an accepted program. Returns its misbehaviour."""
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    try:
        code = compile(text, "candidate.py", "exec")
    except SyntaxError:
        return None
    exec(code, module.__dict__)
    results = []
    for _ in range(3):
        x, y = torch.ones(4), torch.ones(4)
        kept = weakref.ref(x)
        recorder = Recorder()
        try:
            with recorder:
                result = module.fused(x, y)
        except Exception as error:
            results.append(type(error).__name__)
        else:
            results.append(str(tuple(result.shape)))
            del result
        if recorder.seen:
            return recorder.seen[0]
        del x, y, recorder
        gc.collect()
        if kept() is not None:
            return "a tensor outlives the call"
    return None if len(set(results)) == 1 else f"results differ: {results}"


def accepted(texts: list[str], passnet: str, folder: Path) -> list[bool]:
    """Returns which programs the lint accepts."""
    places = []
    for number, text in enumerate(texts):
        place = folder / str(number)
        place.mkdir(exist_ok=True)
        (place / "fuse.py").write_text(text)
        (place / "sorted_output_pass_rule_names.json").write_text('["fuse"]')
        places.append(str(place))
    answer = subprocess.run([passnet, "lint", "--format", "json", *places], capture_output=True, text=True)
    found = {Path(item["file"]).parent.name for item in json.loads(answer.stdout)["findings"]}
    return [str(number) not in found for number in range(len(texts))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--passnet", default="target/debug/passnet")
    parser.add_argument("--seed", type=int, default=None, help="first seed; otherwise random")
    parser.add_argument("--show", type=int, help="print the program of a seed and leave")
    options = parser.parse_args()
    if options.show is not None:
        print(program(options.show)[0])
        return 0
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    print(f"first seed {seed}", flush=True)
    end = time.monotonic() + options.seconds
    # The collections after each run skip the objects of PyTorch.
    gc.freeze()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            seeds = range(seed, seed + BATCH)
            seed += BATCH
            programs = [program(number) for number in seeds]
            passed = accepted([text for text, _, _ in programs], options.passnet, Path(folder))
            counts["twins accepted"] += sum(accepted([twin for _, twin, _ in programs], options.passnet, Path(folder)))
            counts["programs"] += BATCH
            for number, (text, _, payload), is_accepted in zip(seeds, programs, passed, strict=True):
                # Some of the refused ones run as well, to count how many disguises keep their payload alive.
                if not is_accepted and number % 50 == 0:
                    counts["refused and run"] += 1
                    counts["of these, misbehaved"] += misbehaves(text) is not None
                if not is_accepted:
                    continue
                behaviour = misbehaves(text)
                counts["accepted and harmless" if behaviour is None else "escaped"] += 1
                if behaviour is not None:
                    print(f"escaped: seed {number}: {behaviour}: {payload!r}", flush=True)
    print(json.dumps(counts))
    return 1 if counts["escaped"] else 0


if __name__ == "__main__":
    sys.exit(main())
