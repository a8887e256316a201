"""Pass libraries: `passnet.optimize` writes them, `passnet.load` applies them."""

from __future__ import annotations

import json
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


def test_other_files_than_the_manifests_are_refused(library: Path, tmp_path: Path):
    with pytest.raises(PassError, match="is no pass library"):
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


@pytest.mark.parametrize(
    "spec",
    [
        *("model.py", "absent.py:build", "model.py:absent", "model.py:nothing"),
        *("syntax.py:build", "imports.py:build", "bytes.py:build", "text.txt:build"),
    ],
)
def test_what_is_no_model_is_wrong_use(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    Path("syntax.py").write_text("def build(:\n")
    Path("imports.py").write_text("import no_such_package\n")
    Path("bytes.py").write_bytes(b"\x00\xff")
    Path("text.txt").write_text(MODEL)
    assert optimize.main([spec, "--out", "library"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and any(part in said for part in spec.split(":"))
