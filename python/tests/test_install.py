"""The wheel: built by the project's build backend, installed where nothing else of the project is, and used."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import tarfile
import venv
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
VERSION = "0.2.0"


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that does not see the source tree."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PASSNET_", "PYTHON")) and name != "VIRTUAL_ENV"
    }
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a virtual environment with maturin."""
    environment = tmp_path_factory.mktemp("builder")
    venv.create(environment, with_pip=True, symlinks=True)
    programs = environment / "bin"
    got = subprocess.run([programs / "pip", "install", "-q", "maturin>=1.10,<2"], capture_output=True, text=True)
    if got.returncode != 0:
        pytest.skip(f"maturin cannot be installed: {got.stderr.strip().splitlines()[-1:]}")
    return programs


def build(builder: Path, *command: str | Path) -> None:
    environment = {**os.environ, "PATH": f"{builder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def installed(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a fresh virtual environment with the wheel, and the packages of this one."""
    work = tmp_path_factory.mktemp("install")
    flags = ["--no-deps", "--no-build-isolation", "-C", "profile=dev", "--wheel-dir", work / "dist"]
    build(builder, builder / "pip", "wheel", *flags, ".")
    (wheel,) = (work / "dist").glob("*.whl")
    assert wheel.name.startswith(f"passnet-{VERSION}-cp310-abi3-"), wheel.name
    fresh = work / "fresh"
    venv.create(fresh, with_pip=False, symlinks=True)
    subprocess.run([builder / "pip", "-q", "--python", fresh / "bin/python", "install", "--no-deps", wheel], check=True)
    (site,) = fresh.glob("lib/python3*/site-packages")
    (site / "packages.pth").write_text(f"{Path(torch.__file__).parents[1]}\n")
    return fresh / "bin"


@pytest.mark.long
def test_the_command_is_a_program_and_a_module(installed: Path, tmp_path: Path):
    expected = f"passnet {VERSION}\n"
    assert run(installed / "passnet", "--version", cwd=tmp_path) == expected
    assert run(installed / "python", "-m", "passnet", "--version", cwd=tmp_path) == expected


@pytest.mark.long
def test_the_command_finds_the_interpreter_that_it_is_installed_in(installed: Path, tmp_path: Path):
    report = json.loads(run(installed / "passnet", "doctor", "--json", cwd=tmp_path))
    findings = {finding["what"]: finding for finding in report["findings"]}
    assert findings["interpreter"]["detail"] == f"{installed / 'python'} (PassNet is installed there)"
    assert torch.__version__ in findings["Python"]["detail"]
    # The evaluation works; whether its timing settles depends on how busy the machine is.
    evaluation = findings["evaluation"]
    assert evaluation["level"] == "good" or evaluation["detail"].startswith("unstable: "), evaluation


@pytest.mark.long
def test_torch_finds_the_backend_by_name(installed: Path, tmp_path: Path):
    program = """
import torch
import passnet.backend
assert "passnet" in torch._dynamo.list_backends()
with torch.no_grad():
    print(torch.compile(lambda x: torch.relu(x) + 1, backend="passnet")(torch.tensor([-1.0, 2.0])).tolist())
print(passnet.backend.__file__)
"""
    result, file = run(installed / "python", "-c", program, cwd=tmp_path).splitlines()
    assert result == "[1.0, 3.0]"
    assert file.startswith(str(installed.parent)), file


@pytest.mark.long
def test_the_metadata_names_versions_licences_and_the_backend(installed: Path):
    (site,) = installed.parent.glob("lib/python3*/site-packages")
    (found,) = importlib.metadata.distributions(name="passnet", path=[str(site)])
    assert found.metadata["Requires-Python"] == ">=3.10"
    assert found.metadata["License-Expression"] == "MIT OR Apache-2.0"
    (entry,) = found.entry_points.select(group="torch_dynamo_backends")
    assert (entry.name, entry.value) == ("passnet", "passnet.backend:passnet")
    packaged = {str(file) for file in found.files or ()}
    assert {
        "passnet/kernels/prelude.hpp",
        "passnet/kernels/vectors.hpp",
        "passnet/_native.abi3.so",
        "passnet_verifiers/__init__.py",
    } <= packaged
    assert not any("tests" in Path(file).parts for file in packaged)


def test_the_archive_of_sources_has_every_tracked_file(builder: Path, tmp_path: Path):
    """The command includes files of all folders: a missing file is noticed only by a build from the archive."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("the sources are not in a git repository")
    program = (
        "import sys; sys.path.insert(0, 'packaging'); import passnet_build; passnet_build.build_sdist(sys.argv[1])"
    )
    build(builder, builder / "python", "-c", program, tmp_path)
    with tarfile.open(tmp_path / f"passnet-{VERSION}.tar.gz") as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    # Untracked files are not packed, but deleted ones are still listed.
    expected = {name for name in tracked.stdout.splitlines() if (ROOT / name).exists()}
    missing = {name for name in expected - packed if not name.startswith("python/tests/")}
    assert not missing
