"""Programs name an interpreter without PyTorch, or with one that is too old, in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("program", ["optimize", "extract"])
@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        (None, "has no package `torch`"),
        ("__version__ = '1.13.0'", "cannot import `torch._dynamo`"),
        ("raise OSError('libtorch.so: cannot open shared object file')", "OSError: libtorch.so: cannot open"),
    ],
)
def test_an_interpreter_that_cannot_import_torch_is_named(
    program: str, torch: str | None, expected: str, tmp_path: Path
):
    if torch is not None:
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "__init__.py").write_text(torch)
    (tmp_path / "model.py").write_text("def build(): ...\n")
    arguments = [f"{tmp_path}/model.py:build", "--out", f"{tmp_path}/out"]
    # `-S`: without the packages of this interpreter.
    finished = subprocess.run(
        [sys.executable, "-S", "-m", f"passnet.{program}", *arguments],
        env={**os.environ, "PYTHONPATH": f"{PACKAGE}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 3, finished.stderr
    said = finished.stderr.removeprefix("importing PyTorch\n")
    assert said.count("\n") == 1 and expected in finished.stderr, finished.stderr
    assert sys.executable in finished.stderr and "PASSNET_PYTHON" in finished.stderr


def test_an_installation_without_the_extension_module_is_named(tmp_path: Path):
    shutil.copytree(PACKAGE / "passnet", tmp_path / "passnet", ignore=shutil.ignore_patterns("_native*", "__pycache__"))
    (tmp_path / "model.py").write_text("def build(): ...\n")
    finished = subprocess.run(
        [sys.executable, "-m", "passnet.optimize", f"{tmp_path}/model.py:build", "--out", f"{tmp_path}/out", "--quiet"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert finished.returncode == 3 and finished.stderr.count("\n") == 1, finished.stderr
    assert "cannot import `passnet._native`" in finished.stderr and "install PassNet there again" in finished.stderr
