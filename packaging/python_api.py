"""Writes docs/reference/python-api.md from the sources of the Python package. `--check` only compares.

The sources are parsed and not imported: the page does not depend on the versions of Python and PyTorch.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "passnet"
PAGE = ROOT / "docs" / "reference" / "python-api.md"

# Public modules in the order of the page.
MODULES = ("passnet", "passnet.backend", "passnet.kernels", "passnet.env", "passnet.extract")
# Names of modules where not everything that has a public name is for users.
NAMES = {"passnet": ["compile", "Compiled", "load", "Library", "extract"], "passnet.extract": []}

HEAD = """\
# Python API

<!-- Written by packaging/python_api.py from the docstrings. Do not edit. -->

`import passnet` takes no time: `passnet.Env`, `passnet.backend`, `passnet.compile`, `passnet.extract`, `passnet.kernels` and `passnet.load` are
imported when they are used. Names that begin with an underscore are private.
"""


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != text:
            print(
                f"{PAGE.relative_to(ROOT)} is not current; run python {Path(__file__).relative_to(ROOT)}",
                file=sys.stderr,
            )
            return 1
        return 0
    PAGE.write_text(text)
    return 0


def page() -> str:
    """The text of the page."""
    return "\n".join([HEAD, *(part for module in MODULES for part in _module(module))])


def _module(module: str) -> Iterator[str]:
    tree = _tree(module)
    yield f"## `{module}`\n"
    if module != "passnet" and (text := ast.get_docstring(tree)):
        yield _markdown(text) + "\n"
    for name in _public_names(tree, module):
        yield from _entry(module, _definition(module, name))


def _public_names(tree: ast.Module, module: str) -> list[str]:
    if module in NAMES:
        return NAMES[module]
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [name for name in found if not name.startswith("_")]


def _tree(module: str) -> ast.Module:
    parts = module.split(".")[1:]
    file = PACKAGE.joinpath(*parts)
    return ast.parse((file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text())


def _definition(module: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The definition of a public name, in the module that defines it."""
    tree = _tree(module)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return _definition(node.module, name)
    raise SystemExit(f"error: `{module}` has no definition of `{name}`")


def _entry(module: str, node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    qualified = f"{module}.{node.name}"
    if isinstance(node, ast.FunctionDef):
        yield f"### `{qualified}`\n\n```python\n{_signature(node)}\n```\n"
        yield _documentation(node)
        return
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    start = next((method for method in methods if method.name == "__init__"), None)
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
    bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
    lines = [f"class {node.name}{bases}", *(f"    {ast.unparse(item)}" for item in fields)]
    if start is not None:
        lines.append(f"    {_signature(start)}")
    yield f"### `{qualified}`\n\n```python\n" + "\n".join(lines) + "\n```\n"
    yield _documentation(node)
    if start is not None and ast.get_docstring(start):
        yield _documentation(start)
    for method in methods:
        if not method.name.startswith("_"):
            yield f"#### `{node.name}.{method.name}`\n\n```python\n{_signature(method)}\n```\n"
            yield _documentation(method)


def _signature(node: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    decorators = "".join(
        f"@{decorator.id}\n"
        for decorator in node.decorator_list
        if getattr(decorator, "id", "") in ("classmethod", "property")
    )
    return f"{decorators}def {node.name}({ast.unparse(node.args)}){returns}"


def _documentation(node: ast.FunctionDef | ast.ClassDef) -> str:
    text = ast.get_docstring(node)
    if text is None:
        raise SystemExit(f"error: the public name `{node.name}` has no docstring")
    return _markdown(text) + "\n"


def _markdown(text: str) -> str:
    """A docstring as Markdown: code in fences, literals of one backtick, and no roles of Sphinx."""
    lines: list[str] = []
    in_code = False
    for line in (*inspect.cleandoc(text).splitlines(), ""):
        if line.strip() and line.startswith("    ") != in_code:
            # Blank lines before the end of the code belong behind the fence.
            blank = 0
            while in_code and not lines[-1]:
                blank += 1
                lines.pop()
            lines += ["```" if in_code else "```python", *[""] * blank]
            in_code = not in_code
        lines.append(line.removeprefix("    ") if in_code else line)
    if in_code:
        lines[-1] = "```"
    text = "\n".join(lines).rstrip()
    for role in (":class:", ":func:", ":mod:"):
        text = text.replace(role, "")
    return re.sub(r"(?<!`)``(?!`)", "`", text)


if __name__ == "__main__":
    sys.exit(main())
