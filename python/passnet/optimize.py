"""``python -m passnet.optimize MODULE.py:BUILD --out DIR``: makes one model faster and reports the speedup.

``BUILD`` is a function without arguments that returns a model and the arguments of a call, ``(model, args)`` or ``(model, args,
kwargs)``. ``passnet.compile`` compiles the model, compares each region with PyTorch and times it. Then the whole model, PyTorch, and the
modes of ``torch.compile`` are timed in turns. The passes that are kept become a pass library, which other programs open with ``passnet.load``.

Standard output is one JSON object. Exit status: 0 if the model is not slower than PyTorch, 1 if it is, or if no region was kept,
2 for wrong use, 3 if the device or PyTorch is missing.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from passnet import _progress
from passnet._compile.errors import DeviceError, UsageError
from passnet._interrupt import raise_on_interrupt
from passnet._required import torch_problem

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    try:
        check(options)
        if options.tasks is not None and (known := _known_tasks(options)) is not None:
            print(known)
            return 0
        return _optimize(options)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except DeviceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3


def _optimize(options: argparse.Namespace) -> int:
    _progress.listen(None if options.quiet else lambda step: print(step, file=sys.stderr, flush=True))
    _progress.show("importing PyTorch")
    if (problem := torch_problem(native=True)) is not None:
        raise DeviceError(problem)
    # Imported after the checks: importing torch takes seconds, and a typo should be reported immediately.
    from passnet._compile.optimized import optimize, write_model_tasks

    raise_on_interrupt()
    _progress.show("extract: building the model and capturing its graph")
    return optimize(options) if options.tasks is None else write_model_tasks(options, _origin(options))


def _origin(options: argparse.Namespace) -> dict[str, str]:
    """Returns what tasks are made of: the model, the hash of its file, and the device."""
    file = Path(options.spec.rpartition(":")[0])
    return {
        "model": options.spec,
        "source": hashlib.sha256(file.read_bytes()).hexdigest(),
        "device": options.device,
    }


def _known_tasks(options: argparse.Namespace) -> str | None:
    """Returns the description of the tasks that an earlier call has written; None if there is none.

    Raises :class:`UsageError` if they are those of another model or device: attempts at them must not be continued.
    """
    file = options.tasks / "tasks.json"
    try:
        text = file.read_text(encoding="utf-8")
        known = json.loads(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be read: {error}; delete {options.tasks} to begin again") from error
    for name, value in _origin(options).items():
        if known.get(name) != value:
            what = "another version of the file of the model" if name == "source" else f"another {name}"
            raise UsageError(f"{file}: was written for {what}; delete {options.tasks}, or name another --out")
    return text


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="passnet optimize", description="Make one model faster, and say by how much.")
    parser.add_argument("spec", metavar="MODULE.py:BUILD", help="function that returns a model and its arguments")
    parser.add_argument("--out", type=Path, required=True, help="directory for the pass library")
    parser.add_argument("--device", default="cpu", help="device of the model and of tensors among the arguments")
    parser.add_argument("--passes", action="append", default=[], help="pass directory that is applied first")
    parser.add_argument("--author", choices=("fuse", "none"), default="fuse", help="writes passes for the rest")
    parser.add_argument("--tasks", type=Path, help="only write the parts worth a pass to this directory, as a suite")
    parser.add_argument("--authored", type=Path, help="file that describes the passes of a language model")
    parser.add_argument("--report", type=Path, help="write a page to this file")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=["default"], help="modes of torch.compile to time")
    parser.add_argument("--quiet", action="store_true", help="do not print which step runs")
    return parser.parse_args(argv)


def _similar(name: str, others: Iterable[str]) -> str:
    """Returns a suggestion to append to a message, or an empty text if no name is similar."""
    close = difflib.get_close_matches(name, list(others), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""


def _advice(name: str, functions: Sequence[str]) -> str:
    """Returns how to name a function of a file, to append to a message."""
    if not functions:
        return "; write one that returns a model and its arguments"
    return _similar(name, functions) or f"; the file defines {', '.join(functions[:8])}"


def _functions(text: str) -> list[str]:
    """Returns the names of the functions and classes of a module that another program can call."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [part.name for part in ast.parse(text).body if isinstance(part, kinds) and not part.name.startswith("_")]


def check(options: argparse.Namespace) -> None:
    """Checks the options that can be checked without PyTorch.

    Raises :class:`UsageError`.
    """
    path, _, name = options.spec.rpartition(":")
    file = Path(path)
    if not path or not name:
        raise UsageError(f"`{options.spec}` is not a file and a function; write it as `model.py:build`")
    if not file.is_file():
        if file.is_dir():
            raise UsageError(f"{path}: this is a directory; name a Python file in it, as in `model.py:build`")
        files = (other.name for other in file.parent.glob("*.py"))
        advice = _similar(file.name, files) or "; name a Python file and a function in it, as in `model.py:build`"
        raise UsageError(f"{path}: there is no such file{advice}")
    if file.suffix != ".py":
        raise UsageError(f"{path}: not a Python file; its name has to end in `.py`")
    try:
        text = file.read_text(encoding="utf-8")
        compile(text, path, "exec")
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno or 1}:{error.offset or 1}: syntax error: {error.msg}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    # The file has null bytes, or is not UTF-8.
    except ValueError as error:
        raise UsageError(f"{path}: cannot be read as Python: {error}") from error
    # `import *` and `__getattr__` can define names that the text does not contain.
    if not re.search(rf"\b{re.escape(name)}\b|import \*|__getattr__", text):
        raise UsageError(f"{path}: there is no function `{name}`{_advice(name, _functions(text))}")
    for folder in options.passes:
        if not Path(folder).is_dir():
            raise UsageError(f"{folder}: there is no such pass directory")
    if options.author == "none" and not options.passes and options.authored is None:
        raise UsageError("there is nothing to apply: name pass directories with --passes, or another author")
    if options.out.exists() and not options.out.is_dir():
        raise UsageError(f"{options.out}: cannot be the directory of the pass library, because it is a file")
    # The directory may have an earlier library, or files of the user.
    if options.out.exists() and any(options.out.iterdir()):
        raise UsageError(f"{options.out}: already exists; name a new directory, or delete this one first")
    if options.report is not None and not options.report.parent.is_dir():
        raise UsageError(f"{options.report}: the directory {options.report.parent} does not exist")
    if options.report is not None and options.report.is_dir():
        raise UsageError(f"{options.report}: cannot be the file of the report, because it is a directory")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
