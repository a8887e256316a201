"""Lessons: a graph as text, and the sketches of its passes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphs import GraphError, read_graph
from patterns import Graph, SketchError
from sketch import expand, read, sketch_of
from tokenizer import END, GRAPH, PASSES, Tokenizer

ORDER_FILE = "sorted_output_pass_rule_names.json"
NOTHING = "# no pass\n"
"""Answer for a graph that needs no pass."""
_DOCSTRING = re.compile(r'\A""".*?"""\n+', re.DOTALL)
_COMMENT = re.compile(r"^# .*\n", re.MULTILINE)
_LAUNCH = re.compile(r"(kernel\d+)\[\((\d+),\)\]\(")
_BLOCK = re.compile(r"tl\.program_id\(0\) \* (\d+) \+ tl\.arange\(0, \1\)")
_BOUND = re.compile(r"\w < (\d+)")


@dataclass(frozen=True)
class Lesson:
    """A graph and passes for it."""

    name: str
    source: str
    """`teacher` if the passes were measured and right on a device, `fuse` if nothing has run them, `none` if there are none."""
    prompt: str
    ops: tuple[str, ...]
    answer: str


def from_folders(samples: Path, passes: Path) -> list[Lesson]:
    """Returns lessons of task folders with one graph each, and the passes that `passnet fuse` wrote for them.

    They are kept in `PASSES.jsonl`, so that work that was interrupted continues with the next folder.
    """
    kept = passes.with_name(f"{passes.name}.jsonl")
    if not kept.exists():
        lines = []
        for folder in sorted(passes.iterdir()):
            files = {path.name: path.read_text() for path in folder.iterdir()} or {ORDER_FILE: "[]"}
            sample = next((samples / folder.name).glob("*/model.py"), None)
            if sample:
                lines += [json.dumps(vars(lesson)) for lesson in _lesson(folder.name, "fuse", sample.parent, files)]
        kept.write_text("".join(f"{line}\n" for line in lines))
    records = map(json.loads, kept.read_text().splitlines())
    return [Lesson(**{**record, "ops": tuple(record["ops"])}) for record in records]


def from_trajectories(path: Path, samples: Path, device: str) -> Iterator[Lesson]:
    """Yields lessons of trajectories on one graph, as JSON lines; `samples` has their tasks as folders."""
    for line in path.read_text().splitlines():
        record = json.loads(line)
        graphs = record["task"]["visible"]
        if len(graphs) == 1 and record["settings"]["device"].startswith(device) and record["passes"]:
            sample = samples / record["task"]["id"] / graphs[0]
            if sample.is_dir():
                yield from _lesson(f"{record['task']['id']}--{graphs[0]}", "teacher", sample, record["passes"])


def _lesson(name: str, source: str, sample: Path, files: dict[str, str]) -> Iterator[Lesson]:
    """Yields the lesson of a graph, if its passes have sketches. A graph without passes is a lesson too: nothing is worth it there."""
    try:
        graph = read_graph(sample)
        prompt = graph.prompt()
        yield Lesson(name, source if len(files) > 1 else "none", prompt, graph.ops(), answer_of(files, prompt))
    except (GraphError, SketchError, SyntaxError, ValueError):
        return


def compact(text: str) -> str:
    """Returns a pass file without comments, and with the number of programs of a launch as a division.

    `kernel0[(294,)]` becomes `kernel0[(-(-301056 // 1024),)]`, of numbers that the model sees: 301056 elements, 1024 of them in a program.
    """
    text = _DOCSTRING.sub("", _COMMENT.sub("", text))
    return _LAUNCH.sub(lambda launch: f"{launch[1]}[({division(text, launch[1], int(launch[2]))},)](", text)


def division(text: str, kernel: str, programs: int) -> str:
    """Returns the number of programs as elements divided by elements of a program, where the kernel says how many those are."""
    body = text.partition(f"def {kernel}(")[2].partition("\n\n\n")[0]
    block = _BLOCK.search(body)
    if programs == 1 or block is None:
        return str(programs)
    size = int(block[1])
    bound = next((int(found[1]) for found in _BOUND.finditer(body) if -(-int(found[1]) // size) == programs), None)
    return f"-(-{bound or programs * size} // {size})"


def from_pairs(path: Path, tokenizer: Tokenizer) -> Iterator[tuple[list[int], list[int]]]:
    """Yields tokens of prompts and answers in JSON lines."""
    for line in path.read_text().splitlines():
        pair = json.loads(line)
        yield tokens_of(tokenizer, pair["prompt"], pair["answer"])


def tokens_of(tokenizer: Tokenizer, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    return [GRAPH, *tokenizer.encode(prompt), PASSES], [*tokenizer.encode(answer), END]


def answer_of(files: dict[str, str], prompt: str) -> str:
    """Returns the sketches of pass files for a graph, in the order of application.

    Raises:
        SketchError: a pass has no sketch.
    """
    graph = Graph(prompt)
    order = json.loads(files[ORDER_FILE])
    if set(files) != {ORDER_FILE, *(f"{name}.py" for name in order)}:
        raise SketchError("further files")
    return "".join(sketch_of(compact(files[f"{name}.py"]), graph).text() for name in order) or NOTHING


def files_of(answer: str, prompt: str) -> dict[str, str]:
    """Returns the pass directory that sketches describe for a graph. An answer that is none stays as a file, which does not load."""
    if answer.strip() in ("", NOTHING.strip()):
        return {ORDER_FILE: "[]\n"}
    try:
        graph = Graph(prompt)
        files = {f"pass_{number}.py": expand(one, graph) for number, one in enumerate(read(answer))}
    except (SketchError, ValueError) as error:
        files = {"pass_0.py": f"{answer}\nraise ValueError({str(error)!r})\n"}
    order = [name.removesuffix(".py") for name in files]
    return {**files, ORDER_FILE: json.dumps(order) + "\n"}


def write_passes(folder: Path, answer: str, prompt: str) -> None:
    """Writes the pass directory of an answer."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files_of(answer, prompt).items():
        (folder / name).write_text(text)
