"""Graphs as prompts, for sketches: statements by the names of their values, and patterns made of them."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

NAME = re.compile(r"\b(?:in|w|tmp)_\d+\b")
_OWN = re.compile(r"\b(?:in|t)\d+\b")
_INPUT = re.compile(r"((?:in|w)_\d+): (\S.*)")
_STATEMENT = re.compile(r"((?:in|w|tmp)_\d+) ([-+*/|&]?=) (.*)  # (.*)")
_TENSOR = re.compile(r"(\w+)\[([\d, ]*)\](?: strides \[([\d, ]*)\])?")
_IN_PLACE = {"+=": "iadd", "-=": "isub", "*=": "imul", "/=": "itruediv", "|=": "ior", "&=": "iand"}
_VALUE = re.compile(r"\b_VALUE\b")
_DEVICE = re.compile(r"device\(type='\w+'(?:, index=\d+)?\)")
_HERE = "torch.device('cuda', 0)"
"""Device of constants in patterns; a graph names the one that it was captured on."""
_SEARCH = 20_000
"""Steps of the search for a pattern, which ends early in graphs of ordinary size."""


class SketchError(ValueError):
    """A text is no sketch, or a pass has none."""


@dataclass(frozen=True)
class Types:
    """Type of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Statement:
    """A call: its name, its text with `_` for each value that it reads, and those values."""

    name: str
    skeleton: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """A pattern: its lines, the values of the graph that are its arguments and the values of its lines."""

    lines: tuple[str, ...]
    arguments: tuple[str, ...]
    values: tuple[str, ...]

    def name_of(self, value: str) -> str:
        if value not in self.values:
            raise SketchError(f"{value} is no value of the pass")
        return f"t{self.values.index(value)}"


class Graph:
    """A graph, read from the text of its prompt. Each value has one name: that of the last plain assignment of it."""

    def __init__(self, prompt: str) -> None:
        self.types: dict[str, str] = {}
        self.statements: dict[str, Statement] = {}
        current: dict[str, str] = {}
        parsed: list[tuple[str, str, tuple[str, ...]]] = []
        names: dict[str, str] = {}
        for line in prompt.splitlines():
            if found := _INPUT.fullmatch(line):
                self.types[found[1]] = found[2]
                current[found[1]] = names[found[1]] = found[1]
            elif found := _STATEMENT.fullmatch(line):
                name, sign, expression, kind = found.groups()
                if sign == "=" and NAME.fullmatch(expression):
                    current[name] = current.get(expression, expression)
                    names[current[name]] = name
                    self.types[name] = kind
                    continue
                text = expression if sign == "=" else f"operator.{_IN_PLACE.get(sign, sign)}({name}, {expression})"
                reads = tuple(current.get(read, read) for read in NAME.findall(text))
                value = f"{name} {len(parsed)}"
                parsed.append((value, skeleton(text, NAME), reads))
                current[name] = value
                names[value] = name
                self.types[name] = kind
        for value, text, reads in parsed:
            name = names[value]
            if name not in self.statements or current.get(name) == value:
                self.statements[name] = Statement(name, text, tuple(names.get(read, read) for read in reads))

    def type_of(self, value: str) -> Types:
        found = _TENSOR.fullmatch(self.types.get(value, ""))
        if not found:
            raise SketchError(f"{value} is no tensor")
        shape = tuple(int(size) for size in found[2].split(",") if size.strip())
        dense = tuple(math.prod(max(size, 1) for size in shape[axis + 1 :]) for axis in range(len(shape)))
        strides = tuple(int(size) for size in found[3].split(",")) if found[3] else dense
        return Types(found[1], shape, strides)

    def pattern(self, names: tuple[str, ...]) -> Pattern:
        """Returns the pattern of some statements, in this order."""
        own: dict[str, str] = {}
        arguments: list[str] = []
        lines = []
        for number, name in enumerate(names):
            statement = self.statements.get(name)
            if statement is None or name in own:
                raise SketchError(f"{name} is no statement, or is there twice")
            for read in statement.reads:
                if read not in own:
                    own[read] = f"in{len(arguments)}"
                    arguments.append(read)
            text = statement.skeleton
            for read in statement.reads:
                text = _VALUE.sub(own[read], text, count=1)
            own[name] = f"t{number}"
            lines.append(f"t{number} = {text}")
        return Pattern(tuple(lines), tuple(arguments), names)

    def find(self, lines: list[str], types: list[tuple[str, str]]) -> tuple[tuple[str, ...], dict[str, str]]:
        """Returns the statements of a pattern whose arguments have these types, and the value of each name of the pattern."""
        wanted = []
        for line in lines:
            name, _, text = line.partition(" = ")
            wanted.append(Statement(name, skeleton(text, _OWN), tuple(_OWN.findall(text))))
        steps = 0

        def fits(own: str, value: str) -> bool:
            if own[0] == "t":
                return True
            if not types:
                return True
            shape, dtype = types[int(own[2:])]
            found = _TENSOR.fullmatch(self.types.get(value, ""))
            return bool(found) and found[1] == dtype and str(self.type_of(value).shape) == shape

        def search(at: int, bound: dict[str, str]) -> dict[str, str] | None:
            nonlocal steps
            steps += 1
            if at == len(wanted):
                return bound
            for statement in self.statements.values():
                want = wanted[at]
                if steps > _SEARCH or statement.skeleton != want.skeleton or statement.name in bound.values():
                    continue
                more = dict(bound)
                if all(
                    more.setdefault(own, value) == value and fits(own, value)
                    for own, value in zip(want.reads, statement.reads, strict=True)
                ):
                    more[want.name] = statement.name
                    if (found := search(at + 1, more)) is not None:
                        return found
            return None

        found = search(0, {})
        if found is None:
            raise SketchError("the pattern is not in the graph")
        return tuple(found[one.name] for one in wanted), found


def skeleton(text: str, name: re.Pattern[str]) -> str:
    """Returns an expression with each value as `_VALUE`, in one notation."""
    plain = _DEVICE.sub(_HERE, name.sub("_VALUE", text))
    try:
        return ast.unparse(ast.parse(plain, mode="eval"))
    except SyntaxError as error:
        raise SketchError(f"no expression: {text}") from error
