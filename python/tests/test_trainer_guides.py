"""The guides for trainers agree with the installed libraries: their code runs, and the options that they name exist."""

import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from agent_command import ROOT, TASK, served
from passnet.trainers.rollout import URLS
from tiny_model import tiny_model

GUIDES = ROOT / "docs/guides/trainers"
ADDRESS = "http://127.0.0.1:8801"


def code(page: str) -> str:
    """The one Python block of a page."""
    [block] = re.findall(r"^```python\n(.*?)^```$", (GUIDES / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    return block


def source(library: str) -> Path:
    """The folder of an installed library, without importing it: most need a GPU for that."""
    spec = importlib.util.find_spec(library)
    if spec is None:
        pytest.skip(f"needs the library {library}")
    return Path(spec.submodule_search_locations[0])


def pairs(node: object, above: str) -> Iterator[tuple[str, str]]:
    """All keys of a configuration, each with the key above it."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield above, key
        yield from pairs(value, key)


@pytest.fixture(scope="module")
def url():
    with served("--steps", "4") as address:
        yield address


def run(block: str, url: str) -> dict[str, object]:
    """Runs a block of a guide with the address of a real server in place of the one that it names."""
    names: dict[str, object] = {}
    exec(compile(block.replace(ADDRESS, url), "guide.py", "exec"), names)
    return names


def test_trl(url, tmp_path, monkeypatch):
    source("trl")
    pytest.importorskip("datasets", reason="needs the library datasets")
    import trl

    template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text()
    tiny_model(tmp_path / "tiny", ["one two three"], template)
    monkeypatch.chdir(tmp_path)
    # A whole training of the guide's size takes hours; test_trainers_trl.py runs steps of it.
    block = code("trl.md").replace("Qwen/Qwen3-4B", str(tmp_path / "tiny")).removesuffix("trainer.train()\n")
    block = block.replace('output_dir="out"', 'output_dir="out", bf16=False')
    trainer = run(block, url)["trainer"]
    assert [row["task"] for row in trainer.train_dataset] == [TASK] * 4
    assert trainer.args.num_generations == 8


def test_skyrl(url, tmp_path, monkeypatch):
    source("skyrl_gym")
    pytest.importorskip("datasets", reason="needs the library datasets")
    import pandas

    monkeypatch.chdir(tmp_path)
    from skyrl_gym.envs import registration

    # Other tests register the environment too, and a name may be registered once.
    with mock.patch.dict(registration.registry):
        registration.registry.pop("passnet", None)
        run(code("skyrl.md"), url)
        assert "passnet" in registration.registry
    assert len(pandas.read_parquet("train.parquet")) == 1


def test_verl(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(URLS, url)
    pytest.importorskip("pyarrow", reason="needs the library pyarrow")
    run(code("verl.md"), url)
    import pandas

    assert set(pandas.read_parquet("train.parquet")["agent_name"]) == {"passnet"}
    import yaml

    known = set()
    for path in (source("verl") / "trainer/config").rglob("*.yaml"):
        # A file of a group has the options below the name of its folder.
        known |= set(pairs(yaml.safe_load(path.read_text()), path.parent.name))
    options = re.findall(r"\b((?:[a-z_]+\.)+[a-z_]+)=", (GUIDES / "verl.md").read_text())
    assert len(options) > 4
    for option in options:
        assert tuple(option.split(".")[-2:]) in known, option


def test_openrlhf():
    library = source("openrlhf")
    parser = (library / "cli/train_ppo_ray.py").read_text()
    options = re.findall(r"--[a-z]+\.[a-z_]+", (GUIDES / "openrlhf.md").read_text())
    assert len(options) == 2
    for option in options:
        assert f'"{option}"' in parser, option


def test_openenv(url, monkeypatch):
    pytest.importorskip("openenv.core", reason="needs the library openenv")
    pytest.importorskip("uvicorn", reason="needs the library uvicorn")
    monkeypatch.setenv(URLS, url)
    [command] = re.findall(r"uvicorn (--factory \S+) --port 8000", (GUIDES / "openenv.md").read_text())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "uvicorn", *command.split(), "--port", str(port)]) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{address}/health", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            block = code("openenv.md").replace("http://127.0.0.1:8000", address).replace("gpt2-gelu-tanh", TASK)
            begin = "text_of_the_model = 'I am done.'\n"
            assert run(begin + block, url)["step"].done
        finally:
            server.kill()


def test_verifiers(tmp_path):
    source("verifiers")
    commands = re.findall(r"^\$ vf-eval (.+?)(?: +#.*)?$", (GUIDES / "verifiers.md").read_text(), re.MULTILINE)
    assert len(commands) == 3
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    for command in commands:
        # Reads all options and begins nothing.
        line = [Path(sys.executable).parent / "vf-eval", *command.split(), "--dry-run", "true"]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
