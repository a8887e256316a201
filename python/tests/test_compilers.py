"""Compilers as authors: their files, and why they cannot run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from passnet import _compilers


def asked(*arguments: str) -> str:
    command = [sys.executable, "-m", "passnet._compilers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_compiler_says_in_one_line_why_it_cannot_run(tmp_path: Path) -> None:
    assert asked("cudagraphs", "cpu") == "CUDA graphs need a CUDA device; use --device cuda"
    assert asked("cudagraphs", "cuda:1") == ""
    broken = tmp_path / "broken.py"
    broken.write_text("print('noise')\nimport no_such_compiler\n")
    assert "no_such_compiler" in asked(str(broken), "cpu", str(broken))
    empty = tmp_path / "empty.py"
    empty.write_text("")
    assert "no function `compile(module)`" in asked(str(empty), "cpu", str(empty))


def test_missing_packages_are_named() -> None:
    assert _compilers.missing("no_such_compiler", "no-such") == (
        "the Python package `no_such_compiler` is not installed; pip install no-such"
    )
    assert _compilers.missing("torch", "torch") is None


def test_a_package_that_cannot_be_imported_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old_compiler.py").write_text("import torch\ntorch.Tensor.no_such_method\n")
    monkeypatch.syspath_prepend(tmp_path)
    problem = _compilers.missing("old_compiler", "pytest")
    assert problem is not None and "no_such_method" in problem
    assert f"(pytest {pytest.__version__}, PyTorch 2." in problem


def test_a_file_of_the_user_is_a_compiler() -> None:
    source = "def compile(module):\n    return lambda *inputs: tuple(2 * out for out in module(*inputs))\n"
    doubled = _compilers.compiled("mine.py", source, lambda x: (x + 1,))
    assert doubled(torch.ones(1))[0].item() == 4
    with pytest.raises(ValueError, match="no function `compile"):
        _compilers.load("mine.py", "x = 1\n")
