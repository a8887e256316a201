"""Sketches: what the model decides in a pass, and the program that writes a pass file of it.

A sketch of one pass names the statements of the graph that the pass replaces and the values that it returns, and has the kernels, their
launches and the numbers that differ between places:

    # pass tmp_1 tmp_2 -> tmp_2
    # laid out in0
    # at tmp_1 tmp_2: (512, 294)
    @kernels.triton
    ...
    # launch
    out0 = torch.empty_like(in0)
    ...
    return out0

`expand` writes the rest, which is in the graph already: the text of the pattern, arguments, imports, and the tables of shapes, strides and
types that a pass checks before it runs. It takes no decision, repairs nothing, and knows nothing of kernels. `sketch_of` is its
inverse; a pass that does not come back from its sketch has none.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from patterns import Graph, SketchError, Types

PASS, LAID_OUT, AT, LAUNCH = "# pass ", "# laid out ", "# at ", "# launch"
UNCHANGED = "# as it was"
"""Launch of a pass that calls the statements of its pattern."""
_OF_RESULT = re.compile(r"\b(shape|stride|dtype)(\d+)\b")
_OF_PLAN = re.compile(r"temporaries|(?:offset|shape|stride|dtype)\d+")
_KNOWN = re.compile(r"in\d+|kernel\d+(?:_\d+)?|float\d+|bfloat16|int\d+|uint\d+")
_WRITTEN = ("pattern", "replacement_args", "replacement_func", "fused")
_REFUSAL = 'raise ValueError("fused: not written for these shapes, types or layouts")'


@dataclass(frozen=True)
class Place:
    """Statements of a graph that a pass replaces, and the entries of its plan that are not a type of a result."""

    statements: tuple[str, ...]
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class Sketch:
    """The decisions of one pass."""

    places: tuple[Place, ...]
    results: tuple[str, ...]
    """Values of the first place."""
    laid_out: tuple[str, ...]
    """Arguments whose strides a library chooses, so that the pass may have to copy them."""
    definitions: str
    launch: str

    def text(self) -> str:
        first, *_ = self.places
        lines = [f"{PASS}{' '.join(first.statements)} -> {' '.join(self.results)}"]
        if self.laid_out:
            lines.append(LAID_OUT + " ".join(self.laid_out))
        if first.numbers or len(self.places) > 1:
            lines += [f"{AT}{' '.join(place.statements)}: {'; '.join(place.numbers)}" for place in self.places]
        return "\n".join([*lines, self.definitions.strip(), LAUNCH, self.launch.strip()]) + "\n"


def read(text: str) -> list[Sketch]:
    """Reads the sketches of a pass directory.

    Raises:
        SketchError: the text is no sketch.
    """
    parts = re.split(rf"^(?={PASS})", text, flags=re.MULTILINE)
    if parts[0].strip() or len(parts) == 1:
        raise SketchError("text before the first pass")
    return [_read(part) for part in parts[1:]]


def _read(text: str) -> Sketch:
    head, found, launch = text.partition(f"\n{LAUNCH}\n")
    if not found:
        raise SketchError("no launch")
    first, *lines = head.split("\n")
    statements, found, results = first.removeprefix(PASS).partition(" -> ")
    laid_out: tuple[str, ...] = ()
    if lines and lines[0].startswith(LAID_OUT):
        laid_out = tuple(lines.pop(0).removeprefix(LAID_OUT).split())
    places = []
    while lines and lines[0].startswith(AT):
        names, _, numbers = lines.pop(0).removeprefix(AT).partition(":")
        places.append(Place(tuple(names.split()), tuple(part.strip() for part in numbers.split(";") if part.strip())))
    places = places or [Place(tuple(statements.split()), ())]
    if not results.split() or places[0].statements != tuple(statements.split()):
        raise SketchError("no results, or another first place")
    return Sketch(tuple(places), tuple(results.split()), laid_out, "\n".join(lines), launch)


def expand(sketch: Sketch, graph: Graph) -> str:
    """Returns the pass file of a sketch for a graph.

    Raises:
        SketchError: the sketch names what the graph does not have, or is no Python.
    """
    first, *others = (graph.pattern(place.statements) for place in sketch.places)
    if any(other.lines != first.lines for other in others):
        raise SketchError("places of one pass differ")
    returned = [first.name_of(name) for name in sketch.results]
    arguments = [f"in{number}" for number in range(len(first.arguments))]
    if not set(sketch.laid_out) <= set(arguments):
        raise SketchError("no such argument")
    plans, layouts = {}, {}
    unpacked = entries(sketch.launch)
    for place, pattern in zip(sketch.places, (first, *others), strict=True):
        types = [graph.type_of(value) for value in pattern.arguments]
        results = [graph.type_of(pattern.values[int(name[1:])]) if name[0] == "t" else None for name in returned]
        key = f"({', '.join(f'{kind.shape}, torch.{kind.dtype}' for kind in types)})"
        plans[key] = _plan(unpacked, place.numbers, results)
        strides = [str(types[int(name[2:])].strides) for name in sketch.laid_out]
        layouts[key] = f"({', '.join(strides)},)"
    listed = ", ".join(arguments)
    parts = [
        f"def pattern({listed}):\n"
        + "".join(f"    {line}\n" for line in first.lines)
        + f"    return {', '.join(returned)}",
        f"def replacement_args({listed}):\n    return ({listed}{',' if arguments else ''})",
        "def replacement_func():\n    return fused",
        *([sketch.definitions.strip()] if sketch.definitions.strip() else []),
    ]
    if sketch.launch.strip() == UNCHANGED:
        parts.append(parts[0].replace("def pattern(", "def fused("))
    else:
        parts.append(_table("PLANS", plans))
        parts += [_table("LAYOUTS", layouts)] if sketch.laid_out else []
        parts.append(_fused(arguments, sketch, unpacked))
    text = "\n\n\n".join(parts) + "\n"
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise SketchError(f"no Python: {error}") from None
    return f"{_imports(text)}\n\n\n{text}"


def entries(launch: str) -> list[str]:
    """Returns the names of the entries of a plan, in order: numbers first, types of results, temporaries."""
    words = dict.fromkeys(re.findall(r"\b(?:variant|numbers|temporaries|[a-z]+\d+(?:_\d+)?)\b", launch))
    assigned = set(re.findall(r"^ *([\w, ]+) = ", launch, re.MULTILINE))
    made = {name for names in assigned for name in re.findall(r"\w+", names)}
    free = [name for name in words if name not in made and not _KNOWN.fullmatch(name)]
    used = set(free)
    first = [name for name in free if not _OF_PLAN.fullmatch(name)]
    # A view reads its offset from the plan too, where it is not used if it is 0.
    used |= {f"offset{name[5:]}" for name in used if name.startswith("shape") and f"dtype{name[5:]}" not in used}
    indices = sorted({int(re.sub(r"\D", "", name)) for name in used if _OF_PLAN.fullmatch(name) and name[-1].isdigit()})
    of_results = [f"{part}{index}" for index in indices for part in ("offset", "shape", "stride", "dtype")]
    order = dict.fromkeys(["variant", "numbers", *first, *of_results, "temporaries"])
    return [name for name in order if name in used]


def _plan(unpacked: list[str], numbers: tuple[str, ...], results: list[Types | None]) -> str:
    rest, values = list(numbers), []
    for name in unpacked:
        found = _OF_RESULT.fullmatch(name)
        if found is None:
            if not rest:
                raise SketchError(f"no {name} for a place")
            values.append(rest.pop(0))
            continue
        kind = results[int(found[2])] if int(found[2]) < len(results) else None
        if kind is None:
            raise SketchError(f"{name} is of no result")
        values.append({"shape": str(kind.shape), "stride": str(kind.strides), "dtype": f"torch.{kind.dtype}"}[found[1]])
    if rest:
        raise SketchError("more numbers than the launch uses")
    return f"({', '.join(values)}{',' if len(values) == 1 else ''})"


def _table(name: str, rows: dict[str, str]) -> str:
    return f"{name} = {{\n" + "".join(f"    {key}: {value},\n" for key, value in sorted(rows.items())) + "}"


def _fused(arguments: list[str], sketch: Sketch, unpacked: list[str]) -> str:
    def refused(names: list[str]) -> str:
        tests = " and ".join(f"{name}.is_contiguous()" for name in names)
        return f"if plan is None or not ({tests}):" if names else "if plan is None:"

    key = f"({', '.join(f'{name}.shape, {name}.dtype' for name in arguments)})"
    lines = [f"plan = PLANS.get({key})", refused(arguments)]
    if sketch.laid_out:
        names = [f"layout{name[2:]}" for name in sketch.laid_out]
        copies = [
            f"    if {name}.stride() != {layout}:\n            {name} = kernels.with_strides({name}, {layout})"
            for name, layout in zip(sketch.laid_out, names, strict=True)
        ]
        strict = [name for name in arguments if name not in sketch.laid_out]
        lines += [f"    layout = LAYOUTS.get({key})", "    if layout is None:", f"        {_REFUSAL}"]
        lines.append(f"    {', '.join(names)}{',' if len(names) == 1 else ''} = layout")
        lines += [f"    plan = PLANS.get({key})", f"    {refused(strict)}", f"        {_REFUSAL}", *copies]
    else:
        lines.append(f"    {_REFUSAL}")
    if unpacked:
        lines.append(f"{', '.join(unpacked)}{',' if len(unpacked) == 1 else ''} = plan")
    lines += sketch.launch.strip("\n").split("\n")
    decorator = "@kernels.prepared\n" if sketch.definitions.strip() else ""
    return f"{decorator}def fused({', '.join(arguments)}):\n" + "\n".join(f"    {line}" for line in lines)


def _imports(text: str) -> str:
    lines = ["import operator\n"] if "operator." in text else []
    lines += ["import torch", "import triton", "import triton.language as tl"]
    if "libdevice." in text:
        lines.append("from triton.language.extra import libdevice")
    return "\n".join([*lines, "", "from passnet import kernels"])


def sketch_of(text: str, graph: Graph) -> Sketch:
    """Returns the sketch of a pass file whose expansion is this file.

    Raises:
        SketchError: there is none.
    """
    tree = ast.parse(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    tables = {
        node.targets[0].id: {
            ast.unparse(key): value for key, value in zip(node.value.keys, node.value.values, strict=True)
        }
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    }
    if not {"pattern", "fused"} <= functions.keys():
        raise SketchError("no pass of one function")
    *lines, returned = functions["pattern"].body
    pattern = [ast.unparse(line) for line in lines]
    if "PLANS" not in tables:
        launch, laid_out, tables = UNCHANGED, (), {"PLANS": {"": ast.Tuple([])}}
    else:
        launch, laid_out = _launch_of(functions["fused"])
    unpacked = entries(launch)
    places, results = [], None
    for key, value in tables["PLANS"].items():
        statements, names = graph.find(pattern, _types_of(key))
        results = results or [names[part] for part in re.findall(r"\w+", ast.unparse(returned).removeprefix("return"))]
        numbers = [
            ast.unparse(one) for one, name in zip(value.elts, unpacked, strict=True) if not _OF_RESULT.fullmatch(name)
        ]
        places.append(Place(statements, tuple(numbers)))
    sketch = Sketch(tuple(places), tuple(results or ()), laid_out, _definitions_of(text), launch)
    if normal(expand(read(sketch.text())[0], graph)) != normal(text):
        raise SketchError("another pass comes back")
    return sketch


def _types_of(key: str) -> list[tuple[str, str]]:
    elements = ast.parse(key or "()", mode="eval").body.elts
    return [
        (ast.unparse(shape), ast.unparse(dtype).removeprefix("torch."))
        for shape, dtype in zip(elements[::2], elements[1::2], strict=True)
    ]


def _launch_of(fused: ast.FunctionDef) -> tuple[str, tuple[str, ...]]:
    """Returns what follows the checks, and the arguments that the checks lay out."""
    checks, rest = fused.body[:2], fused.body[2:]
    if not isinstance(checks[-1], ast.If):
        raise SketchError("no checks")
    if rest and isinstance(rest[0], ast.Assign) and ast.unparse(rest[0].value) == "plan":
        rest = rest[1:]
    laid_out = re.findall(r"(in\d+) = kernels\.with_strides", ast.unparse(checks[-1]))
    return "\n".join(map(ast.unparse, rest)), tuple(laid_out)


def _definitions_of(text: str) -> str:
    body = text.partition("def replacement_func():\n    return fused\n")[2]
    body = re.split(r"^(?:PLANS = |LAYOUTS = |@kernels\.prepared|def fused\()", body, maxsplit=1, flags=re.MULTILINE)[0]
    # In one notation, without line breaks that depend on lengths.
    return "\n\n\n".join(map(ast.unparse, ast.parse(body).body))


def normal(text: str) -> str:
    """Returns what `expand` writes of a pass file, in one notation, without imports and the order of rows in tables."""
    body = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            rows = zip(node.value.keys, node.value.values, strict=True)
            body.append(
                ast.unparse(node.targets[0])
                + str(sorted((ast.unparse(key), ast.unparse(value)) for key, value in rows))
            )
        elif isinstance(node, ast.FunctionDef) and node.name in _WRITTEN:
            body.append(ast.unparse(node))
    return "\n".join(body)
