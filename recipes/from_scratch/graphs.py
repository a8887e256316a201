"""Graphs as the model reads them: the statements of `model.py`, each with the type of its value.

Types come from running the statements on the `meta` device, which holds no data. The statements are code of captured graphs from the
suites; do not run this on sample folders that you do not trust.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import torch

NAME = re.compile(r"\b(?:in|w|tmp)_\d+\b")
_META = re.compile(
    r"""name = ['"](?P<name>\w+)['"].*?shape = \[(?P<shape>[\d, ]*)\]\s+dtype = ['"](?P<dtype>[\w.]+)""", re.DOTALL
)
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
_ASSIGNMENT = re.compile(r"((?:in|w|tmp)_\d+) ([-+*/|&]?=) (.+)")
_SHAPE = re.compile(r"\w\[([\d, ]+)\]")
_OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "@": "matmul",
    "==": "eq",
    ">": "gt",
    "<": "lt",
}


class GraphError(ValueError):
    """A sample folder is not a graph that can be read here."""


@dataclass(frozen=True)
class Statement:
    """One line of a graph: `name = expression`, or `name += expression`, which writes into an existing value."""

    name: str
    expression: str
    sign: str = "="

    @property
    def reads(self) -> list[str]:
        return NAME.findall(self.expression) + ([] if self.sign == "=" else [self.name])

    def text(self) -> str:
        return f"{self.name} {self.sign} {self.expression}"

    def op(self) -> str:
        """Returns the last part of the name of what is called, so that `x.add(y)`, `torch.add(x, y)` and `x + y` are equal."""
        if self.sign != "=":
            return "i" + _OPERATORS.get(self.sign[0], self.sign)
        call = _CALL.match(self.expression)
        if call:
            return call[1].rpartition(".")[2].strip("_")
        words = self.expression.split(" ")
        return _OPERATORS.get(words[1] if len(words) > 1 else "", "getitem")


@dataclass(frozen=True)
class Graph:
    """A graph with the types of its values."""

    inputs: dict[str, str]
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]
    types: dict[str, str]

    def text(self) -> str:
        """Returns the graph as text."""
        lines = [f"{name}: {kind}" for name, kind in self.inputs.items()]
        lines += [f"{one.text()}  # {self.types[one.name]}" for one in self.statements]
        return "\n".join([*lines, f"return {', '.join(self.outputs)}"]) + "\n"

    def prompt(self) -> str:
        """Returns the graph as the model reads it: before what is returned, each shape once with its elements and strides.

        A kernel is written in such products, which a small decoder copies well and multiplies badly.
        """
        kinds = [*self.inputs.values(), *self.types.values()]
        shapes = dict.fromkeys(shape for kind in kinds for shape in _SHAPE.findall(kind))
        *body, returned = self.text().splitlines(keepends=True)
        return "".join([*body, *map(_products, shapes), returned])

    def ops(self) -> tuple[str, ...]:
        """Returns the op sequence, without constants. Names are coarser than those of suites, so that more counts as equal."""
        return tuple(one.op() for one in self.statements)


def _products(shape: str) -> str:
    sizes = [int(size) for size in shape.split(", ")]
    return f"{shape} = {', '.join(str(math.prod(sizes[axis:])) for axis in range(len(sizes)))}\n"


def read_graph(folder: Path) -> Graph:
    """Reads a sample folder.

    Raises:
        GraphError: the folder is no straight-line graph of tensors, or does not run.
    """
    inputs = read_inputs(folder)
    statements, outputs = _parse((folder / "model.py").read_text())
    return typed(inputs, statements, outputs)


def read_inputs(folder: Path) -> dict[str, str]:
    """Returns the inputs of a sample folder, each as `dtype[shape]`."""
    text = "".join(
        (folder / name).read_text() for name in ("weight_meta.py", "input_meta.py") if (folder / name).exists()
    )
    found = {}
    for block in text.split("\nclass "):
        meta = _META.search(block)
        if meta:
            shape = ", ".join(meta["shape"].replace(" ", "").split(","))
            found[meta["name"]] = f"{meta['dtype'].removeprefix('torch.')}[{shape}]"
    return found


def typed(inputs: dict[str, str], statements: tuple[Statement, ...], outputs: tuple[str, ...]) -> Graph:
    """Runs statements on `meta` tensors and records the type of each value."""
    values = {name: _tensor(kind) for name, kind in inputs.items()}
    # Captured graphs name the device that they ran on; here every tensor is on `meta`.
    scope = {"torch": torch, "inf": float("inf"), "nan": float("nan"), "device": lambda **_: torch.device("meta")}
    types = {}
    for one in statements:
        try:
            exec(one.text(), scope, values)
        except Exception as error:
            raise GraphError(f"{one.text()}: {error}") from error
        types[one.name] = _kind(values[one.name])
    if any(name not in values for name in outputs):
        raise GraphError("an output is not defined")
    return Graph(inputs, statements, outputs, types)


def _parse(text: str) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    body = text.split("def forward(", 1)[-1].split("\n")[1:]
    statements, outputs = [], ()
    # Some printers put the release of a value on the line of the statement, after a semicolon.
    for line in (part.strip() for text in body for part in text.split(";  ")):
        if line.startswith("return"):
            outputs = tuple(NAME.findall(line))
        elif line and not line.endswith("= None"):
            found = _ASSIGNMENT.fullmatch(line)
            if not found:
                raise GraphError(f"not a plain assignment: {line}")
            statements.append(Statement(found[1], found[3], found[2]))
    if not outputs:
        raise GraphError("nothing is returned")
    return tuple(statements), outputs


def _tensor(kind: str) -> torch.Tensor:
    dtype, _, shape = kind.rstrip("]").partition("[")
    sizes = [int(size) for size in shape.split(",") if size.strip()]
    return torch.empty(sizes, dtype=getattr(torch, dtype), device="meta")


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        kind = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        return kind if value.is_contiguous() else f"{kind} strides {list(value.stride())}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_kind, value))})"
    return type(value).__name__
