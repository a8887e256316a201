"""Pass libraries: `passnet.optimize` writes them, `passnet.load` applies them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import passnet
from passnet import optimize
from passnet._backend.stopwatch import Comparison
from passnet._compile import page
from passnet._passes.errors import PassError

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x, *, scale=1.0):
        return torch.relu(x + self.down(nn.functional.gelu(self.up(self.norm(x))))) * scale + x.sigmoid()

def build():
    torch.manual_seed(0)
    return Model(), (torch.randn(128, 64),), {"scale": 0.5}

def nothing():
    return 7
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The library of the model, and `result.json`, `page.html` next to it."""
    monkeypatch.setenv("PASSNET_CACHE", str(tmp_path / "cache"))
    # Nothing is dropped because the machine is busy.
    monkeypatch.setattr(Comparison, "loses", False)
    (tmp_path / "model.py").write_text(MODEL)
    out = tmp_path / "library"
    code = optimize.main(
        [f"{tmp_path}/model.py:build", "--out", str(out), "--report", f"{tmp_path}/page.html", "--modes"]
    )
    result = json.loads(capsys.readouterr().out)
    assert code == int(result["median_ns"]["passnet"] > result["median_ns"]["eager"])
    (tmp_path / "result.json").write_text(json.dumps(result))
    return out


@torch.no_grad()
def test_a_library_is_applied_without_the_author(library: Path, monkeypatch: pytest.MonkeyPatch):
    found = passnet.load(library)
    result = json.loads((library.parent / "result.json").read_text())
    assert found.manifest["torch"] == torch.__version__ and found.manifest["median_ns"] == result["median_ns"]
    assert result["passes"] == len(list(library.glob("*.py"))) > 0
    monkeypatch.setattr("passnet._native.write_passes", None)
    namespace: dict = {}
    exec(MODEL, namespace)
    model, (x,), kwargs = namespace["build"]()
    compiled = found.compile(model)
    for _ in range(3):
        torch.testing.assert_close(compiled(x, **kwargs), model(x, **kwargs), rtol=1e-4, atol=1e-5)
    (known,) = compiled.report().specialisations
    assert known.regions and all(region.kept for region in known.regions)
    # Another size and another model, for which the library was not written.
    torch.testing.assert_close(compiled(x[:3]), model(x[:3]), rtol=1e-4, atol=1e-5)
    other = found.compile(torch.nn.Linear(64, 3))
    torch.testing.assert_close(other(x), other.model(x))


def test_the_page_says_times_and_regions(library: Path):
    text = (library.parent / "page.html").read_text(encoding="utf-8")
    assert "passnet" in text and "author:fuse_0" in text and "kept" in text
    result = json.loads((library.parent / "result.json").read_text())
    result["model"] = "<script>"
    assert "<script>" not in page.report(result)
    # The page has the style of all others.
    assert "--accent:" in text and 'class="number"' in text
    assert "<footer>" in text and page._MARK in text
    # The mark is that of the other pages, which are written in Rust.
    shell = Path(__file__).parents[2] / "crates/passnet-web/src/shell.rs"
    if shell.exists():
        drawn = "".join(part for part in shell.read_text(encoding="utf-8").split('"#,')[0].split('r#"')[1:])
        assert page._MARK.startswith(drawn)


def test_numbers_on_the_page_have_the_right_form():
    region = {
        "rule": "r",
        "author": "fuse",
        "eager_ns": 1.0,
        "fused_ns": 1.0,
        "operations": 1,
        "kept": True,
        "reason": "",
    }
    known = {"inputs": [], "regions": [region], "notes": [], "operations": 1, "compile_s": 1.0, "cuda_graph": "no"}
    known |= {"by_model": None, "rest": None}
    compiled = {"specialisations": [known], "eager": {}}
    result = {
        "model": "m",
        "median_ns": {"eager": 1.0},
        "compile_s": {"eager": 0.1},
        "peak_bytes": {},
        "failures": {},
        "device": "cpu",
        "threads": 2,
        "compiled": compiled,
    }
    text = page.report(result)
    assert "1 operation by fuse, kept" in text and "1 operation, compiled" in text and "2 threads" in text


def test_other_files_than_the_manifests_are_refused(library: Path, tmp_path: Path):
    with pytest.raises(PassError, match="is not a pass library"):
        passnet.load(tmp_path)
    file = next(library.glob("*.py"))
    file.write_text(file.read_text() + "\n")
    with pytest.raises(PassError, match="not the file that the manifest names"):
        passnet.load(library)
    manifest = library / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"schema_version": 1', '"schema_version": 9', 1))
    with pytest.raises(PassError, match="another version"):
        passnet.load(library)
    manifest.write_text("{")
    with pytest.raises(PassError, match="not JSON"):
        passnet.load(library)


WRONG = {
    "model.py": "write it as `model.py:build`",
    "model.py:": "write it as `model.py:build`",
    "absent.py:build": "no such file",
    ".:build": "directory",
    "model.py:absent": "no function `absent`",
    "model.py:nothing": "returned a `int`",
    "model.py:fails": "model.py:21: `fails` failed: ValueError: no weights",
    "model.py:wrong": "model.py:11: the model fails for its arguments: TypeError",
    "model.py:text": "is not callable",
    "syntax.py:build": "syntax.py:1:11: syntax error",
    "imports.py:build": "imports.py:1: cannot be imported: ModuleNotFoundError",
    "leaves.py:build": "leaves.py:2: cannot be imported: SystemExit",
    "bytes.py:build": "cannot be read as Python",
    "text.txt:build": "has to end in `.py`",
}
MORE = """
def fails():
    raise ValueError("no weights")

def wrong():
    return Model(), ("text",)

def text():
    return "model", ()
"""


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL + MORE)
    Path("syntax.py").write_text("def build(:\n")
    Path("imports.py").write_text("import no_such_package  # build\n")
    Path("leaves.py").write_text("import sys\nsys.exit(1)\n\ndef build(): ...\n")
    Path("bytes.py").write_bytes(b"\x00\xff")
    Path("text.txt").write_text(MODEL)
    Path("full").mkdir()
    Path("full/fuse_0.py").write_text("mine")


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("spec", WRONG)
def test_what_is_no_model_is_wrong_use(spec: str, capsys: pytest.CaptureFixture[str]):
    assert optimize.main([spec, "--out", "library", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and WRONG[spec] in said, said
    assert not Path("library").exists()


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(
    ("option", "value", "code", "message"),
    [
        ("--out", "text.txt", 2, "text.txt: cannot be the directory"),
        ("--out", "full", 2, "full: already exists; name a new directory"),
        ("--report", "absent/page.html", 2, "the directory absent does not exist"),
        ("--report", ".", 2, "it is a directory"),
        ("--passes", "absent", 2, "absent: there is no such pass directory"),
        ("--device", "gpu", 2, "`gpu` is not a device"),
        ("--device", "xla", 2, "not supported"),
        ("--device", "cuda:99", 3, "there is no device `cuda:99`"),
    ],
)
def test_wrong_options_are_reported_before_the_work(
    option: str, value: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
):
    assert optimize.main(["model.py:build", "--out", "library", option, value]) == code
    assert message in capsys.readouterr().err
    assert [path.name for path in Path("full").iterdir()] == ["fuse_0.py"]
    assert Path("full/fuse_0.py").read_text() == "mine"


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("spec", ["model.py", "absent.py:build", "model.py:absent", "syntax.py:build"])
def test_a_typo_is_reported_before_torch_is_imported(spec: str):
    code = "import sys; from passnet import optimize; code = optimize.main(sys.argv[1:]); sys.exit(10 * ('torch' in sys.modules) + code)"
    finished = subprocess.run([sys.executable, "-c", code, spec, "--out", "library"], capture_output=True, check=False)
    assert finished.returncode == 2, finished.stderr
