"""Pass libraries: passes of directories are part of a library with their licences, versions are compared, and a library is a package."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

import passnet
from passnet import optimize
from passnet._backend.directories import load_directories
from passnet._backend.stopwatch import Comparison
from passnet._compile import library as libraries
from passnet._compile.parts import parts

MODEL = """
import torch

def build():
    torch.manual_seed(0)
    return (lambda x: (torch.relu(x) + 0.1234).sigmoid().cos()), (torch.randn(64, 64),)
"""
# A pass with a helper, a pass that matches nothing, and one whose text the first one needs.
PASS = """
# SPDX-License-Identifier: BSD-3-Clause
import torch

from . import helper

def pattern(x):
    return torch.relu(x) + 0.1234

def replacement_args(x):
    return (x,)

def replacement_func():
    return helper.shifted_relu
"""
HELPER = """
import torch

def shifted_relu(x):
    return torch.relu(x).add_(0.1234)
"""
UNUSED = PASS.replace("0.1234", "77.0")


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A pass directory of the user."""
    root = tmp_path / "mine"
    root.mkdir()
    for name, text in {"fuse_0": PASS, "helper": HELPER, "other": UNUSED}.items():
        (root / f"{name}.py").write_text(text)
    (root / "LICENSE.txt").write_text("The licence of these passes.")
    (root / "sorted_output_pass_rule_names.json").write_text('["other", "fuse_0"]')
    return root


def write(tmp_path: Path, name: str, *passes: Path) -> Path:
    """Writes the library of the model with these pass directories."""
    (tmp_path / "model.py").write_text(MODEL)
    options = [part for path in passes for part in ("--passes", str(path))]
    optimize.main([f"{tmp_path}/model.py:build", "--out", str(tmp_path / name), *options, "--modes"])
    return tmp_path / name


@pytest.fixture
def library(given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PASSNET_CACHE", str(tmp_path / "cache"))
    # Nothing is dropped because the machine is busy.
    monkeypatch.setattr(Comparison, "loses", False)
    return write(tmp_path, "my-library", given)


def applied(library: Path) -> set[str]:
    """The passes of a library that are kept for the model."""
    namespace: dict[str, Any] = {}
    exec(MODEL, namespace)
    model, (x,) = namespace["build"]()
    compiled = passnet.load(library).compile(model)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x), model(x))
    (known,) = compiled.report().specialisations
    return {region.rule for region in known.regions if region.kept}


def test_kept_passes_of_directories_are_part_of_the_library(library: Path, given: Path, tmp_path: Path):
    manifest = json.loads((library / "manifest.json").read_text())
    assert manifest["directories"] == {
        "directories/mine": {"license": "BSD-3-Clause", "license_files": ["LICENSE.txt"]}
    }
    part = library / "directories/mine"
    assert sorted(path.name for path in part.iterdir()) == [
        "LICENSE.txt",
        "fuse_0.py",
        "helper.py",
        "sorted_output_pass_rule_names.json",
    ]
    for name in ("fuse_0.py", "helper.py", "LICENSE.txt"):
        digest = hashlib.sha256((part / name).read_bytes()).hexdigest()
        assert (part / name).read_bytes() == (given / name).read_bytes()
        assert manifest["files"][f"directories/mine/{name}"] == digest
    assert "fuse_0" in applied(library)
    # A library may be given to the next run. Its parts stay, with what its manifest says of their licences.
    (part / "fuse_0.py").write_text(PASS.replace("# SPDX-License-Identifier: BSD-3-Clause", ""))
    again = write(tmp_path, "again", library)
    said = json.loads((again / "manifest.json").read_text())["directories"]
    assert said["directories/mine"] == manifest["directories"]["directories/mine"]
    assert said["directories/my-library"] == {"license": "MIT OR Apache-2.0", "license_files": []}
    assert "fuse_0" in applied(again)
    # `torch.compile` applies the parts too.
    passes = [rule.name for directory in load_directories(str(again)) for rule in directory.passes]
    assert passes[0] == "fuse_0" and len(passes) == sum(
        len(json.loads(file.read_text())) for file in again.rglob("sorted_*")
    )


def test_directories_with_the_same_name_are_two_parts(given: Path, tmp_path: Path):
    twin = tmp_path / "other/mine"
    twin.mkdir(parents=True)
    (twin / "helper.py").write_text("")
    (twin / "fuse_0.py").write_text("import helper")
    (twin / "fuse_1.py").write_text("# SPDX-License-Identifier: MIT OR Zlib\nfrom . import fuse_2\n")
    (twin / "fuse_2.py").write_text("#SPDX-License-Identifier:  ISC ")
    (twin / "sorted_output_pass_rule_names.json").write_text('["fuse_0.py", "fuse_1.py", "fuse_2.py"]')
    kept = {given.resolve(): {"fuse_0"}, twin.resolve(): {"fuse_0", "fuse_1"}}
    first, second = parts([str(given), str(twin)], kept)
    assert (first.path, first.passes, first.license) == ("directories/mine", 1, "BSD-3-Clause")
    assert (second.path, second.passes, second.license) == ("directories/mine_2", 2, "ISC AND (MIT OR Zlib)")
    assert json.loads(second.files["sorted_output_pass_rule_names.json"]) == ["fuse_0", "fuse_1"]
    # A pass that is not kept is there if another one uses it.
    assert "fuse_2.py" in second.files and "other.py" not in first.files
    assert second.as_dict()["license_files"] == []
    # A pass of another directory with the same name was not kept.
    assert [part.path for part in parts([str(given), str(twin)], {twin.resolve(): {"fuse_0"}})] == ["directories/mine"]
    assert not parts([str(given)], {given.resolve(): {"author:fuse_0"}})


def test_a_library_with_other_versions_is_loaded_with_a_warning(
    library: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
):
    passnet.load(library)
    assert not [warning for warning in recwarn if "pass library" in str(warning.message)]
    file = library / "manifest.json"
    manifest = json.loads(file.read_text())
    assert "triton" not in manifest
    # Another build of the same version is not another version.
    build = manifest["torch"].partition("+")[0] + "+other"
    monkeypatch.setattr(libraries, "_versions", lambda: {"passnet": manifest["passnet"], "torch": "2.99.0"})
    for written, expected in (
        ({"torch": build}, f"with PyTorch {build}, and this process has PyTorch 2.99.0"),
        ({"torch": "2.99.0+cpu", "triton": "3.1.0"}, "with Triton 3.1.0, and this process has no Triton"),
        (
            {"torch": "2.1.0", "triton": "3.1.0"},
            "with PyTorch 2.1.0 and Triton 3.1.0, and this process has PyTorch 2.99.0 and no Triton",
        ),
    ):
        file.write_text(json.dumps(manifest | written))
        with pytest.warns(RuntimeWarning, match="Run `passnet optimize` with the present versions") as warned:
            passnet.load(library)
        assert expected in str(warned[0].message)
        # The warning names the line that loads the library.
        assert warned[0].filename == __file__


def is_installed(*names: str) -> bool:
    """Returns whether packages are installed. `find_spec("pip")` would answer too, but afterwards setuptools cannot be imported any more."""
    installed = {distribution.name for distribution in importlib.metadata.distributions()}
    return installed.issuperset(names)


@pytest.mark.skipif(not is_installed("pip", "setuptools"), reason="needs pip and setuptools to build a package")
def test_a_library_is_a_package(library: Path, tmp_path: Path):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-q", "-w"]
    subprocess.run([*command, str(tmp_path / "wheels"), str(library)], check=True)
    [wheel] = (tmp_path / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    installed = tmp_path / "site/passnet_my_library"
    assert "fuse_0" in applied(installed)
    assert (installed / "directories/mine/LICENSE.txt").is_file()
