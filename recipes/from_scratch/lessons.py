"""Lessons: a graph as text, and the files of a pass directory as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphs import GraphError, read_graph
from tokenizer import END, GRAPH, PASSES, Tokenizer

ORDER_FILE = "sorted_output_pass_rule_names.json"
_HEADER = "# file: "
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
    """`teacher` if the passes were measured and right on a device, `fuse` if nothing has run them."""
    prompt: str
    ops: tuple[str, ...]
    answer: str


def from_folders(samples: Path, passes: Path) -> Iterator[Lesson]:
    """Yields lessons of task folders with one graph each, and the passes that `passnet fuse` wrote for them."""
    for folder in sorted(passes.iterdir()):
        files = {path.name: path.read_text() for path in folder.iterdir()}
        sample = next((samples / folder.name).glob("*/model.py"), None)
        if sample and len(files) > 1:
            yield from _lesson(folder.name, "fuse", sample.parent, files)


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
    try:
        graph = read_graph(sample)
    except GraphError:
        return
    files = {name: compact(text) if name.endswith(".py") else text for name, text in files.items()}
    yield Lesson(name, source, graph.prompt(), graph.ops(), answer_of(files))


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


def answer_of(files: dict[str, str]) -> str:
    """Returns pass files as one text, in the order of application."""
    order = json.loads(files[ORDER_FILE])
    listed = [f"{name}.py" for name in order]
    others = sorted(name for name in files if name not in listed and name != ORDER_FILE)
    return "".join(f"{_HEADER}{name}\n{files[name].rstrip()}\n" for name in [*others, *listed])


def files_of(answer: str) -> dict[str, str]:
    """Returns the pass directory that an answer describes. Text without the name of a file is one file; an empty answer has no pass."""
    files: dict[str, list[str]] = {}
    name = "pass.py"
    for line in answer.splitlines():
        if line.startswith(_HEADER):
            # Only a plain name is a file of a pass directory.
            name = Path(line.removeprefix(_HEADER).strip()).name or "pass.py"
        files.setdefault(name, [])
        if not line.startswith(_HEADER):
            files[name].append(line)
    texts = {name: "\n".join(lines) + "\n" for name, lines in files.items() if name != ORDER_FILE}
    order = [name.removesuffix(".py") for name in texts if name.endswith(".py")]
    return {**texts, ORDER_FILE: json.dumps(order) + "\n"}


def write_passes(folder: Path, answer: str) -> None:
    """Writes an answer as a pass directory."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files_of(answer).items():
        (folder / name).write_text(text)
