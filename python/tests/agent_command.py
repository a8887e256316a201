"""The real command, for tests of what is built on it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TASK = "gpt2-gelu-tanh"
"""A task of the bundled suite with hand-written passes."""
ONE_GRAPH = ["--filter", TASK, "--graphs-per-task", "1"]
QUICK = ["--trials", "10", "--warmup", "1", "--paths", "direct"]


def binary() -> str:
    """The built command; skips the test where there is none."""
    found = os.environ.get("PASSNET_BINARY") or ROOT / "target/debug/passnet"
    if not Path(found).exists():
        pytest.skip("there is no passnet command; build it or set PASSNET_BINARY")
    return str(found)


def passnet(*arguments: object) -> str:
    """Runs the command in the repository and gives its standard output."""
    run = subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout


def hand_written() -> dict[str, str]:
    """The bundled passes of the task by file name."""
    return {path.name: path.read_text() for path in (ROOT / "suites/demo/passes" / TASK).iterdir()}


@contextmanager
def served(*flags: str, suite: str = "suites/demo") -> Iterator[str]:
    """Serves the environment on one graph of the task, and yields the address."""
    command = [binary(), "env", "serve", suite, "--listen", "127.0.0.1:0", *ONE_GRAPH, *QUICK, *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def tool_call(name: str, **arguments: object) -> str:
    """A call of a tool as a model writes it into its text."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def writing(files: dict[str, str]) -> str:
    """A text that writes files and has them evaluated."""
    calls = [
        tool_call("file_editor", command="create", path=f"/passes/{name}", file_text=text)
        for name, text in files.items()
    ]
    return "\n".join([*calls, tool_call("pass_evaluator")])


def answering(files: dict[str, str]) -> str:
    """An answer of one turn with files."""
    return "Here it is.\n\n" + "\n".join(f"```python {name}\n{text}```\n" for name, text in files.items())


def wrong(files: dict[str, str]) -> dict[str, str]:
    """The bundled passes with a wrong constant."""
    return {name: text.replace("0.044715f", "0.5f") for name, text in files.items()}
