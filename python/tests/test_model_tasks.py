"""`passnet optimize --author llm:MODEL`: the parts of a model as tasks, and what becomes of the passes in the whole model."""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path

import pytest
import torch
import torch.fx

from passnet import optimize
from passnet._backend.regions import Region
from passnet._compile import build
from passnet._compile.segments import MOST_OPERATIONS, is_library, segments_of

LAYERS = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(64), nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).abs().neg())

def build():
    torch.manual_seed(0)
    return nn.Sequential(Layer(), Layer(), Layer()).eval(), (torch.randn(128, 64),)
"""

SLOW = '''
import torch

from passnet import kernels


def pattern(x):
    return x.abs().neg()


def replacement_args(x):
    return (x,)


def replacement_func():
    return slow


SOURCE = """
void slow(const float* x, float* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        double v = x[i];
        for (int64_t k = 0; k < 400; ++k) v = std::sqrt(v * v);
        out[i] = float(-v);
    }
}
"""
slow_float = kernels.cpp(SOURCE, "void slow(const float* x, float* out, int64_t count)")


@kernels.prepared
def slow(x):
    kernels.require(x, dtype=torch.float32)
    out = torch.empty_like(x)
    slow_float(x, out, x.numel())
    return out
'''


def chain(operations: int, seed: int) -> torch.fx.Graph:
    """A graph of random operations, each of one or two earlier values."""
    draw, graph = random.Random(seed), torch.fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(operations):
        target = draw.choice([torch.add, torch.mul, torch.matmul, torch.relu, torch.tanh])
        count = 1 if target in (torch.relu, torch.tanh) else 2
        values.append(graph.call_function(target, tuple(draw.choice(values[-5:]) for _ in range(count))))
    graph.output((values[-1], values[-2]))
    return graph


@pytest.mark.parametrize("seed", range(20))
def test_segments_cover_each_call_once_and_no_path_enters_one_again(seed: int):
    graph = chain(40, seed)
    segments = segments_of(graph)
    calls = [node for node in graph.nodes if node.op == "call_function"]
    assert sorted(node.name for segment in segments for node in segment.nodes) == sorted(node.name for node in calls)
    for segment in segments:
        inside, after = set(segment.nodes), set()
        for node in graph.nodes:
            if node not in inside and any(value in inside or value in after for value in node.all_input_nodes):
                after.add(node)
        assert not any(value in after for node in inside for value in node.all_input_nodes)
        # A library's result is used within the segment or by another library.
        assert all(
            not is_library(value)
            for node in inside
            if is_library(node)
            for value in node.all_input_nodes
            if value in inside
        )


def test_long_segments_are_divided():
    graph = torch.fx.Graph()
    value = graph.placeholder("x")
    for _ in range(3 * MOST_OPERATIONS - 1):
        value = graph.call_function(torch.relu, (value,))
    graph.output((value,))
    assert [len(segment.nodes) for segment in segments_of(graph)] == [64, 64, 63]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PASSNET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "model.py").write_text(LAYERS)
    return f"{tmp_path}/model.py:build"


def test_equal_parts_are_one_task_that_runs_on_its_own(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    work = tmp_path / "work"
    work.mkdir()
    command = [model, "--out", str(tmp_path / "library"), "--tasks", str(work), "--quiet"]
    assert optimize.main(command) == 0
    found = json.loads(capsys.readouterr().out)
    tasks = {task["id"].partition("-")[2]: task for task in found["tasks"]}
    assert tasks["abs-neg-linear"]["places"] == 3
    # The first norm and the last sum are at the ends of the model.
    assert tasks["add-layer_norm-linear"]["places"] == 2
    assert all(task["own_ns"] <= task["eager_ns"] for task in tasks.values())
    assert sum(task["share"] for task in tasks.values()) <= 1.001
    suite = json.loads((work / "suite/suite.json").read_text())
    assert [task["id"] for task in suite["tasks"]] == [task["id"] for task in found["tasks"]]
    sample = work / "suite" / tasks["abs-neg-linear"]["id"] / "000"
    graph = runpy.run_path(str(sample / "model.py"))["GraphModule"]()
    (out,) = graph(torch.randn(128, 64), torch.randn(256, 64), torch.randn(256))
    assert out.shape == (128, 256)
    # The tasks of an earlier call are kept.
    (work / "suite/suite.json").unlink()
    assert optimize.main(command) == 0 and json.loads(capsys.readouterr().out) == found
    (tmp_path / "model.py").write_text(LAYERS + "\n")
    assert optimize.main(command) == 2
    assert "another version of the file of the model" in capsys.readouterr().err


def test_a_model_that_cannot_be_captured_has_no_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "model.py").write_text(
        "import torch\n\ndef model(x):\n    print(x.sum().item())\n    return x.relu()\n\n"
        "def build():\n    return model, (torch.ones(4),)\n"
    )
    command = [f"{tmp_path}/model.py:build", "--out", str(tmp_path / "library"), "--tasks", str(tmp_path), "--quiet"]
    assert optimize.main(command) == 0
    found = json.loads((tmp_path / "tasks.json").read_text())
    assert found["tasks"] == [] and "the whole model" in found["left_out"]


def authored(tmp_path: Path, text: str) -> Path:
    """The description of one part whose passes have this text."""
    passes = tmp_path / "work/passes/01-abs-neg"
    passes.mkdir(parents=True)
    (passes / "slow.py").write_text(text)
    (passes / "sorted_output_pass_rule_names.json").write_text('["slow"]')
    task = {"id": "01-abs-neg", "places": 3, "eager_ns": 5.0, "share": 0.5, "fuse": 1.0, "score": 2.0, "attempts": 1}
    task |= {"tokens": 11, "passes": str(passes), "outcome": "2.00 times as fast as eager mode on its own"}
    result = {"schema_version": 1, "author": "llm:m", "directory": "work", "attempts": 1, "input_tokens": 5}
    result |= {"output_tokens": 6, "cost_usd": None, "stopped": None, "left_out": {}, "tasks": [task]}
    file = tmp_path / "authored.json"
    file.write_text(json.dumps(result))
    return file


def test_passes_that_make_the_whole_model_slower_are_not_used(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    # Their regions are kept, as if other work had disturbed the comparison.
    monkeypatch.setattr(Region, "judge_times", lambda *_: None)
    monkeypatch.setattr(build, "faster", lambda _, module, *__: module)
    file = authored(tmp_path, SLOW)
    optimize.main([model, "--out", str(tmp_path / "library"), "--authored", str(file), "--modes", "--quiet"])
    result = json.loads(capsys.readouterr().out)
    (task,) = result["authored"]["tasks"]
    assert task["outcome"] == "not used: the whole model is faster without it" and task["kept"] == 0
    assert set(result["median_ns"]) == {"eager", "passnet", "passnet with llm:m"}
    assert result["median_ns"]["passnet"] < result["median_ns"]["passnet with llm:m"]
    assert not list((tmp_path / "library").rglob("slow.py"))


def test_wrong_passes_are_not_used_and_the_reason_is_said(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = authored(tmp_path, SLOW.replace("out[i] = float(-v)", "out[i] = 1.0f"))
    page = tmp_path / "page.html"
    command = [model, "--out", str(tmp_path / "library"), "--authored", str(file), "--modes", "--quiet"]
    optimize.main([*command, "--report", str(page)])
    result = json.loads(capsys.readouterr().out)
    (task,) = result["authored"]["tasks"]
    assert task["found"] == 3 and task["kept"] == 0
    assert task["outcome"].startswith("not used: its result is not PyTorch's")
    assert "llm:m" in page.read_text() and task["outcome"].partition(" is not")[0] in page.read_text()
    assert not list((tmp_path / "library").rglob("slow.py"))
