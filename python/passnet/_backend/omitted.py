"""Writes that a pass of the built-in author leaves out.

The author leaves out a write to memory that nothing reads later, such as that of an in-place ReLU whose argument is not used again. A
pattern has no context, so such a pass also matches where the memory is read later or belongs to an input. PyTorch computes the pattern
there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from passnet._backend.sharing import memory_groups, writes
from passnet._passes.canonical import CanonicalGraph
from passnet._passes.load import Pass
from passnet.kernels._signature import Signature

# Names of kernels in the texts of the author: the number of the variant of the pass, then that of the launch in the variant.
_KERNEL = re.compile(r"kernel(\d+)(?:_\d+)?")


def note_omitted(rule: Pass, text: str | bytes) -> None:
    """Records the writes that a pass with this text leaves out, for `omitted_of`."""
    vars(rule)["omitted"] = _omitted_writes(rule.canonical, text)


def _omitted_writes(canonical: CanonicalGraph, text: str | bytes) -> frozenset[int]:
    """Returns the positions of the parameters to which the pattern writes, but not every variant of the author's kernels in the text.

    A text without such kernels is that of another author, whose writes are not known. It leaves out none.
    """
    parameters, calls = canonical.nodes[: canonical.num_inputs], canonical.nodes[canonical.num_inputs :]
    changes = [
        node
        for node, call in zip(calls, canonical.wire["nodes"], strict=True)
        if writes(node) or ["inplace", True] in call["kwargs"]
    ]
    if not changes or (made := _made_writes(text)) is None:
        return frozenset()
    groups = memory_groups(calls[0].graph, changes)
    written = {node for change in changes for node in groups[change]}
    return frozenset(place for place, node in enumerate(parameters) if node in written and str(node.target) not in made)


def omitted_of(rule: Pass) -> frozenset[int]:
    """Returns the positions of the parameters to which the pattern of a pass writes, but not its kernels.

    They are those of the pass that it was made from, if there is one.
    """
    while (origin := vars(rule).get("origin")) is not None:
        rule = origin
    return vars(rule).get("omitted", frozenset())


def _made_writes(text: str | bytes) -> set[str] | None:
    """Returns the names of the parameters that every variant of the author's kernels writes to; `None` without such kernels."""
    variants: dict[str, set[str]] = {}
    for statement in ast.parse(text).body:
        if match := _KERNEL.fullmatch(_defined_name(statement)):
            variants.setdefault(match[1], set()).update(_written_pointers(statement))
    return set.intersection(*variants.values()) if variants else None


def _defined_name(statement: ast.stmt) -> str:
    """Returns the name of a function, or the one name that a statement assigns to; empty for other statements."""
    match statement:
        case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _written_pointers(statement: ast.stmt) -> Iterator[str]:
    """Yields the parameters that the definition of a kernel writes to."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("void "):
            try:
                parameters = Signature.parse(node.value).parameters
            except ValueError:
                # A source of another author. Its writes count as left out.
                continue
            yield from (known.name for known in parameters if known.is_pointer and not known.is_const)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "store"
            and node.args
        ):
            # `tl.store(pointer + offset, ...)`
            pointer = node.args[0]
            while isinstance(pointer, ast.BinOp):
                pointer = pointer.left
            yield ast.unparse(pointer)
