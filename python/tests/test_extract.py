"""Capture of models as samples, through the API and through `python -m passnet.extract`."""

import hashlib
import importlib.util
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import passnet
from passnet._capture import capture
from passnet._sample import SampleError, TensorMeta

MODELS = '''
import os

import torch


class Broken(torch.nn.Module):
    """A module with a graph break and a constant tensor that is neither parameter nor buffer."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8)
        self.scale = torch.tensor([0.5] * 8)

    def forward(self, x):
        y = self.linear(x) * self.scale
        y += 1
        torch._dynamo.graph_break()
        return y[:, 1:, ...][..., None].relu(), torch.full((2, 2), float("-inf"), device=x.device)


def build():
    return Broken(), (torch.randn(3, 4),)


def fails():
    raise ValueError("no weights")


def crashes():
    os.abort()
'''


def load(file: Path) -> dict:
    return runpy.run_path(str(file))


def load_metas(folder: Path) -> dict[str, dict]:
    classes = load(folder / "weight_meta.py").items()
    return {cls.name: vars(cls) for key, cls in classes if key.startswith("Program_weight_tensor_meta_")}


def load_graph(folder: Path) -> torch.nn.Module:
    return load(folder / "model.py")["GraphModule"]()


def run_cli(*arguments: str | Path) -> tuple[int, list[dict]]:
    environment = {**os.environ, "PYTHONPATH": str(Path(passnet.__file__).parents[1])}
    command = [sys.executable, "-m", "passnet.extract", *map(str, arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_each_model_gets_a_line_and_failures_stay_apart(tmp_path):
    file = tmp_path / "models.py"
    file.write_text(MODELS)
    specs = [f"{file}:{name}" for name in ("fails", "crashes", "build", "absent")]
    status, lines = run_cli(*specs, "nowhere:x", "--out", tmp_path / "out")
    assert status == 1
    assert [line["status"] for line in lines] == ["failed", "failed", "ok", "failed", "failed"]
    assert lines[0]["reason"] == "ValueError: no weights"
    assert "SIGABRT" in lines[1]["reason"]
    assert lines[2]["folders"] == ["models/build/subgraph_0", "models/build/subgraph_1"]
    assert lines[2]["ops"] == [3, 4]
    assert "defines no `absent`" in lines[3]["reason"]
    assert "no library `nowhere`" in lines[4]["reason"]

    first, second = (tmp_path / "out" / folder for folder in lines[2]["folders"])
    metas = load_metas(first)
    assert metas["L_self_modules_linear_parameters_weight_"]["shape"] == [8, 4]
    assert metas["L_x_"]["shape"] == [3, 4] and len(metas["L_x_"]["data"]) == 12
    for folder in (first, second):
        source = (folder / "model.py").read_text()
        assert (folder / "graph_hash.txt").read_text() == hashlib.sha256(source.encode()).hexdigest()
        assert json.loads((folder / "graph_net.json").read_text())["framework"] == "torch"
        assert (folder / "input_meta.py").read_text() == ""
        assert load(folder / "input_tensor_constraints.py")["dynamic_dim_constraint_symbols"] == []
    # The texts are runnable and, on the literals of their metas, chain to what the model computes.
    literals = [torch.tensor(meta["data"]).reshape(meta["shape"]) for meta in metas.values()]
    (middle,) = load_graph(first)(*literals)
    relu, full = load_graph(second)(middle)
    assert relu.shape == (3, 7, 1) and relu.min() >= 0
    assert torch.isinf(full).all()


def test_the_written_graph_computes_what_the_model_computes(tmp_path):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True))
    x = torch.randn(2, 3, 8, 8)
    (folder,) = passnet.extract(model, x, out=tmp_path, name="block")
    (again,) = passnet.extract(model, x, out=tmp_path, name="block")
    assert folder == again
    (graph,) = capture(model, (x,))
    with torch.no_grad():
        assert torch.equal(load_graph(folder)(*graph.inputs)[0], model(x))
    (tmp_path / "mine").mkdir()
    with pytest.raises(SampleError, match="is not a sample"):
        passnet.extract(model, x, out=tmp_path, name="mine")


def test_statistics_follow_the_rules():
    torch.manual_seed(0)
    assert TensorMeta.measure("x", torch.arange(63)).data == list(range(63))
    large = TensorMeta.measure("x", torch.arange(64))
    assert (large.data, large.min_val, large.max_val, large.mean) == (None, 0, 63, None)
    tiny = TensorMeta.measure("x", torch.randn(1000) * 1e-5)
    assert tiny.std == pytest.approx(1e-5, rel=0.1) and tiny.min_val is None
    assert TensorMeta.measure("x", torch.rand(1000)).min_val == 0.0
    assert TensorMeta.measure("x", torch.ones(100, dtype=torch.bool)).mean is None
    assert "float('-inf')" in TensorMeta.measure("x", torch.full((2,), float("-inf"))).source()
    with pytest.raises(SampleError, match="no element"):
        TensorMeta.measure("x", torch.empty(0))


def test_torchvision_by_name(tmp_path):
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    status, lines = run_cli("torchvision:resnet18", "torchvision:no_such_model", "--out", tmp_path)
    assert status == 1
    assert lines[0]["folders"] == ["torchvision/resnet18"] and lines[0]["ops"] == [69]
    assert len(load_metas(tmp_path / "torchvision/resnet18")) == 103
    assert "no model of this name" in lines[1]["reason"]
