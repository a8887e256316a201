"""The layout of the package: imports between its parts go one way, and the page of the API is current."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import passnet

PACKAGE = Path(passnet.__file__).parent
ROOT = Path(__file__).parents[2]

# The parts of the package that each part may import, in addition to itself and to `_native`.
ARROWS = {
    "_required": set(),
    "_interrupt": set(),
    "_summary": set(),
    "_warning": set(),
    "_progress": set(),
    "_command": set(),
    "_cache_folder": set(),
    "kernels": {"_cache_folder"},
    "_monitor": set(),
    "_passes": {"_monitor"},
    "_zoo": {"_summary"},
    "_backend": {"_cache_folder", "_progress", "_summary", "_warning", "_passes", "kernels"},
    "_capture": {"_backend", "_summary", "_zoo"},
    "backend": {"_backend", "_passes", "_summary", "_warning", "kernels"},
    "_compile": {"_backend", "_capture", "_passes", "_progress", "_summary", "_warning", "backend", "kernels"},
    "_services": {"_summary", "_backend", "_passes", "_capture", "kernels"},
    "_compilers": {"_summary"},
    "_fleet": {"_summary"},
    "_worker": {"_compilers", "_monitor", "_passes", "backend", "kernels"},
    "env": {"_command"},
    "trainers": {"env"},
    "extract": {"_capture", "_interrupt", "_required", "_zoo"},
    "optimize": {"_compile", "_interrupt", "_progress", "_required", "_summary"},
    "__init__": {"_capture", "_compile", "env"},
    "__main__": {"_command"},
}


def imports() -> dict[Path, set[Path]]:
    """The files of the package that each of its files imports, in functions too."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {file: set(_imported(file)) - {file} for file in files}


def _imported(file: Path):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "passnet":
            for name in node.names:
                yield from _file_of(f"{node.module}.{name.name}") or _file_of(node.module)
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "passnet":
                    yield from _file_of(name.name)


def _file_of(module: str) -> list[Path]:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return [
        file
        for file in (place.with_suffix(".py"), place / "__init__.py")
        if file.exists() and file != PACKAGE / "__init__.py"
    ]


def _part(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_parts_import_only_the_parts_below_them():
    for file, imported in imports().items():
        for other in imported:
            part, used = _part(file), _part(other)
            assert used == part or used in ARROWS[part], (
                f"{file.relative_to(PACKAGE)} imports {other.relative_to(PACKAGE)}"
            )


def test_no_files_import_each_other():
    graph, done = imports(), set()

    def visit(file: Path, path: tuple[Path, ...]) -> None:
        assert file not in path, " -> ".join(str(each.relative_to(PACKAGE)) for each in (*path, file))
        if file not in done:
            for other in graph[file]:
                visit(other, (*path, file))
            done.add(file)

    for file in graph:
        visit(file, ())
    assert len(graph) > 40


def test_files_are_short():
    for file in sources():
        assert len(file.read_text().splitlines()) <= 400, file


def sources() -> list[Path]:
    return [*PACKAGE.rglob("*.py"), *(ROOT / "packaging").glob("*.py")]


def test_the_page_of_the_api_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "packaging/python_api.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
