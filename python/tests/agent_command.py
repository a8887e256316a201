"""The real command, for tests of what is built on it."""

from __future__ import annotations

import os
import subprocess
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
