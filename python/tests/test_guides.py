"""The examples of README and the guides do what they say."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from pathlib import Path

import torch

from agent_command import binary
from agent_command import passnet as passnet_command
from conftest import REPOSITORY
from passnet import backend


def blocks(path: str, language: str) -> list[str]:
    """The code blocks of a language in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (REPOSITORY / path).read_text(), flags=re.DOTALL | re.MULTILINE)


def write_example(folder: Path) -> Path:
    """The pass directory of README."""
    section = (REPOSITORY / "README.md").read_text().partition("## Write a pass")[2]
    [code] = re.findall(r"^```python\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    passes = folder / "my_passes"
    passes.mkdir()
    (passes / "position_ids.py").write_text(code)
    (passes / "sorted_output_pass_rule_names.json").write_text('["position_ids"]')
    return passes


def test_the_example_of_the_readme_is_correct(tmp_path: Path):
    passes = write_example(tmp_path)
    [task] = set(re.findall(r"passnet eval (\S+) --passes my_passes", (REPOSITORY / "README.md").read_text()))
    found = json.loads(passnet_command("eval", task, "--passes", passes, "--trials", 10, "--paths", "direct", "--json"))
    statuses = [verdict["status"] for verdict in found["verdicts"]]
    # On a busy machine times vary; that is no fault of the example.
    assert len(statuses) == 3 and set(statuses) <= {"correct", "unstable"}, statuses


def test_the_guide_to_a_first_pass_has_the_example_of_the_readme(tmp_path: Path):
    passes = write_example(tmp_path)
    assert blocks("docs/guides/first-pass.md", "python") == [(passes / "position_ids.py").read_text()]
    lint = subprocess.run([binary(), "lint", passes], capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout
    [kernel] = blocks("docs/guides/first-pass.md", "py")
    assert kernel in (REPOSITORY / "suites/demo/passes/roberta-position-ids/fuse_position_ids.py").read_text()


def test_the_guide_to_own_models_prints_what_it_says(monkeypatch):
    torch._dynamo.reset()
    backend._backends.clear()
    monkeypatch.chdir(REPOSITORY)
    code = "\n".join(blocks("docs/guides/my-model.md", "python"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "my_model.py", "exec"), {"__name__": "my_model"})
    assert printed.getvalue() == "".join(blocks("docs/guides/my-model.md", "text"))
