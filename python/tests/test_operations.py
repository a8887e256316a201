"""The table of operations in docs/reference/fuse.md names every operation of the bundled suite, and of the public tasks where these are."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A folder with unpacked tasks.
PUBLIC_TASKS = "PASSNET_PUBLIC_TASKS"

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.USub: "neg",
    ast.Invert: "invert",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}


def operations(folder: Path) -> set[str]:
    """Names of all operations of the samples below a folder."""
    names = set()
    for model in folder.rglob("model.py"):
        for node in ast.walk(ast.parse(model.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
                names.add(name.strip("_"))
            elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign):
                names.add(_OPERATORS.get(type(node.op), type(node.op).__name__))
            elif isinstance(node, ast.Compare):
                names.update(_OPERATORS.get(type(op), type(op).__name__) for op in node.ops)
            elif isinstance(node, ast.Subscript):
                names.add("setitem" if isinstance(node.ctx, ast.Store) else "getitem")
    return names


@pytest.mark.parametrize("folder", [str(ROOT / "suites" / "demo"), os.environ.get(PUBLIC_TASKS, "")])
def test_every_operation_has_a_treatment(folder: str) -> None:
    if not folder:
        pytest.skip(f"set {PUBLIC_TASKS} to a folder with the unpacked public tasks")
    table = (ROOT / "docs" / "reference" / "fuse.md").read_text().partition("## Operations")[2].partition("\n## ")[0]
    treated = {name for line in table.splitlines() if line.startswith("|") for name in re.findall(r"`(\w+)`", line)}
    found = operations(Path(folder))
    assert found, f"no samples below {folder}"
    assert found <= treated, sorted(found - treated)
