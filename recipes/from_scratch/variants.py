"""More training graphs from those of the training split: other types, other extents, and ranges of statements.

    python recipes/from_scratch/variants.py SAMPLES OUT --ranges 3 --extents 2 --avoid EVAL_SAMPLES...

SAMPLES and EVAL_SAMPLES are what `passnet dataset export --table tasks` writes. OUT gets one task folder per graph, which `passnet fuse`
accepts. Every graph is run on the `meta` device first; those that do not run are dropped. No graph has an op sequence of EVAL_SAMPLES.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from graphs import NAME, Graph, GraphError, Statement, read_graph, typed

EXTENTS = [
    2,
    4,
    7,
    8,
    9,
    12,
    14,
    16,
    17,
    24,
    28,
    32,
    40,
    48,
    49,
    56,
    64,
    80,
    96,
    112,
    128,
    160,
    192,
    196,
    197,
    256,
    320,
    384,
    512,
    640,
    768,
]
HALF = ("float16", "bfloat16")
MAX_ELEMENTS = 1 << 22
"""Elements of the largest value of a variant; larger graphs teach nothing new."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--avoid", type=Path, nargs="*", default=[])
    parser.add_argument("--ranges", type=int, default=3)
    parser.add_argument("--extents", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0, help="only so many graphs of SAMPLES")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    randomness = random.Random(arguments.seed)
    avoided = {graph.ops() for folder in arguments.avoid for _, graph in read_all(folder)}
    seen: set[str] = set()
    written = 0
    originals = list(read_all(arguments.samples))
    if arguments.limit:
        originals = randomness.sample(originals, min(arguments.limit, len(originals)))
    for name, graph in originals:
        for number, variant in enumerate(variants(graph, arguments.ranges, arguments.extents, randomness)):
            text = variant.text()
            if variant.ops() not in avoided and text not in seen:
                seen.add(text)
                write(arguments.out / f"{name}--{number}" / "000", variant)
                written += 1
    print(f"{written} graphs of {len(originals)}; {len(avoided)} op sequences avoided")


def read_all(folder: Path) -> Iterator[tuple[str, Graph]]:
    """Yields the graphs of task folders that can be read, with a name made of task and graph."""
    for sample in sorted(folder.glob("*/*/model.py")):
        try:
            yield f"{sample.parts[-3]}--{sample.parts[-2]}", read_graph(sample.parent)
        except GraphError:
            continue


def variants(graph: Graph, ranges: int, extents: int, randomness: random.Random) -> Iterator[Graph]:
    """Yields the graph itself and its variants."""
    pieces = [graph, *(piece for _ in range(ranges) if (piece := range_of(graph, randomness)))]
    for piece in pieces:
        yield piece
        for _ in range(extents):
            changed = at_other_extent(piece, randomness)
            changed = changed and at_other_extent(changed, randomness) if randomness.random() < 0.5 else changed
            if changed and randomness.random() < 0.4:
                changed = at_dtype(changed, randomness.choice(HALF))
            if changed:
                yield changed
        half = at_dtype(piece, randomness.choice(HALF))
        if half:
            yield half


def range_of(graph: Graph, randomness: random.Random) -> Graph | None:
    """Returns some consecutive statements as a graph of their own. Values from before become inputs."""
    count = len(graph.statements)
    if count < 2:
        return None
    first = randomness.randrange(count)
    last = randomness.randrange(first, min(count, first + 12)) + 1
    part = graph.statements[first:last]
    later = {name for one in graph.statements[last:] for name in one.reads} | set(graph.outputs)
    outputs = tuple(dict.fromkeys(one.name for one in part if one.name in later))
    made: set[str] = set()
    needed: list[str] = []
    for one in part:
        needed += [name for name in one.reads if name not in made]
        made.add(one.name)
    kinds = {name: graph.inputs.get(name) or graph.types.get(name, "?") for name in dict.fromkeys(needed)}
    if not outputs or any(not re.fullmatch(r"\w+\[[\d, ]*\]", kind) for kind in kinds.values()):
        return None
    return renamed(kinds, part, outputs)


def renamed(kinds: dict[str, str], part: tuple[Statement, ...], outputs: tuple[str, ...]) -> Graph | None:
    """Numbers inputs and temporaries from 0, as captured graphs do."""
    names = {name: f"in_{number}" for number, name in enumerate(kinds)}
    made = dict.fromkeys(one.name for one in part if one.name not in names)
    names |= {name: f"tmp_{number}" for number, name in enumerate(made)}
    statements = tuple(
        Statement(names[one.name], NAME.sub(lambda found: names[found[0]], one.expression), one.sign) for one in part
    )
    inputs = {names[name]: kind for name, kind in kinds.items()}
    return checked(inputs, statements, tuple(names[name] for name in outputs))


def at_other_extent(graph: Graph, randomness: random.Random) -> Graph | None:
    """Replaces one extent of the inputs by another, wherever the number occurs."""
    sizes = [int(size) for kind in graph.inputs.values() for size in re.findall(r"\d+", kind.partition("[")[2])]
    sizes = [size for size in sizes if size > 3]
    if not sizes:
        return None
    old = randomness.choice(sizes)
    new = randomness.choice([size for size in EXTENTS if size != old])
    number = re.compile(rf"(?<![\w.]){old}(?![\w.])")

    def change(text: str) -> str:
        return number.sub(str(new), text)

    inputs = {
        name: kind.partition("[")[0] + "[" + change(kind.partition("[")[2]) for name, kind in graph.inputs.items()
    }
    statements = tuple(Statement(one.name, change(one.expression), one.sign) for one in graph.statements)
    return checked(inputs, statements, graph.outputs)


def at_dtype(graph: Graph, dtype: str) -> Graph | None:
    """Replaces float32 inputs by a half type, as `model.half()` does."""
    inputs = {name: kind.replace("float32", dtype) for name, kind in graph.inputs.items()}
    return checked(inputs, graph.statements, graph.outputs) if inputs != graph.inputs else None


def checked(inputs: dict[str, str], statements: tuple[Statement, ...], outputs: tuple[str, ...]) -> Graph | None:
    """Returns the graph if it runs and no value is too large."""
    try:
        graph = typed(inputs, statements, outputs)
    except GraphError:
        return None
    for kind in [*graph.inputs.values(), *graph.types.values()]:
        elements = 1
        for size in re.findall(r"\d+", kind.partition("[")[2].partition("]")[0]):
            elements *= int(size)
        if elements > MAX_ELEMENTS:
            return None
    return graph


def write(folder: Path, graph: Graph) -> None:
    """Writes a graph as a sample folder."""
    folder.mkdir(parents=True)
    body = "".join(f"        {one.text()}\n" for one in graph.statements)
    names = ", ".join(["self", *graph.inputs])
    returned = ", ".join(graph.outputs)
    text = f"import torch\n\nclass GraphModule(torch.nn.Module):\n\n    def forward({names}):\n{body}        return ({returned},)\n"
    (folder / "model.py").write_text(text)
    metas = []
    for name, kind in graph.inputs.items():
        dtype, _, shape = kind.rstrip("]").partition("[")
        fields = f"name = '{name}'\n    shape = [{shape}]\n    dtype = 'torch.{dtype}'\n    device = 'cpu'\n    mean = 0.0\n    std = 1.0\n    data = None"
        metas.append(f"class Program_weight_tensor_meta_{name}:\n    {fields}\n")
    (folder / "weight_meta.py").write_text("\n\n".join(metas))
    (folder / "input_meta.py").write_text("")
    (folder / "graph_net.json").write_text(json.dumps({"framework": "torch", "dynamic": False}))


if __name__ == "__main__":
    main()
