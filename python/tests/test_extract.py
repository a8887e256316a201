"""Capture of models as samples, through the API and through `python -m passnet.extract`."""

import hashlib
import json
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

import passnet
from compiling import VERSION
from passnet import _zoo
from passnet._capture import replay
from passnet._capture.capture import capture
from passnet._capture.deferred import DeferredInit
from passnet._capture.sample import SampleError, TensorMeta, custom_operators

MODELS = '''
import os
import sys
import time

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
    print('{"event": "model", "spec": "forged", "status": "ok"}')
    return Broken(), (torch.randn(3, 4),)


def fails():
    raise ValueError("no weights")


def crashes():
    os.abort()


def leaves():
    sys.exit(7)


def vanishes():
    os._exit(0)


def hangs():
    while True:
        time.sleep(1)


def swells():
    held = []
    while True:
        held.append(bytearray(1 << 26))


def is_no_model():
    return 3
'''


def load(file: Path) -> dict:
    return runpy.run_path(str(file))


def load_metas(folder: Path) -> dict[str, dict]:
    classes = load(folder / "weight_meta.py").items()
    return {cls.name: vars(cls) for key, cls in classes if key.startswith("Program_weight_tensor_meta_")}


def load_graph(folder: Path) -> torch.nn.Module:
    return load(folder / "model.py")["GraphModule"]()


def run_cli(*arguments: str | Path, skip: str | None = None) -> tuple[int, dict[str, dict], list[str]]:
    """The exit status, the lines of models by specification, and the specifications that were skipped."""
    environment = {**os.environ, "PYTHONPATH": str(Path(passnet.__file__).parents[1])}
    command = [sys.executable, "-m", "passnet.extract", *map(str, arguments)]
    command += ["--skip"] if skip is not None else []
    done = subprocess.run(command, env=environment, input=skip or "", stdout=subprocess.PIPE, text=True, check=False)
    plan, *lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert plan["event"] == "plan"
    return done.returncode, {line["spec"]: line for line in lines}, plan["skipped"]


def test_each_model_gets_a_line_and_a_hostile_one_costs_itself(tmp_path):
    file = tmp_path / "models.py"
    file.write_text(MODELS)
    names = ("fails", "crashes", "leaves", "vanishes", "swells", "is_no_model", "absent", "build")
    limits = ("--timeout", 900, "--memory-gib", 1.5, "--jobs", 2)
    specs = [f"{file}:{name}" for name in (*names, "biuld")]
    status, lines, _ = run_cli(*specs, "nowhere:x", *limits, "--out", tmp_path / "out")
    assert status == 1
    found = {name: lines[f"{file}:{name}"] for name in names}
    assert {name: line["status"] for name, line in found.items()} == {
        "fails": "build_failed",
        "crashes": "crashed",
        "leaves": "build_failed",
        "vanishes": "crashed",
        "swells": "out_of_memory",
        "is_no_model": "no_recipe",
        "absent": "no_recipe",
        "build": "ok",
    }
    assert found["fails"]["reason"] == "ValueError: no weights"
    assert "SIGABRT" in found["crashes"]["reason"]
    assert "defines no `absent`; it defines " in found["absent"]["reason"]
    assert "did you mean build? it defines " in lines[f"{file}:biuld"]["reason"]
    assert "no library `nowhere`" in lines["nowhere:x"]["reason"]
    assert len(lines) == len(names) + 2, "what a model prints is no line"
    assert {path.name for path in (tmp_path / "out/.logs").iterdir()} == {
        f"models_{name}.txt" for name in (*names, "biuld") if name != "build"
    }
    status, lines, _ = run_cli(f"{file}:hangs", "--timeout", 2, "--out", tmp_path / "out")
    assert (status, lines[f"{file}:hangs"]["status"]) == (1, "timeout")

    built = found["build"]
    assert built["folders"] == ["models/build/subgraph_0", "models/build/subgraph_1"]
    assert built["ops"] == [3, 4] and built["replayed"] == 2

    first, second = (tmp_path / "out" / folder for folder in built["folders"])
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


class Absolute(torch.nn.Module):
    def forward(self, x):
        return abs(x) + 1


def test_functions_without_syntax_are_written_by_their_name_in_torch(tmp_path):
    (folder,) = passnet.extract(Absolute(), torch.randn(4, 4), out=tmp_path)
    assert "torch.abs(" in (folder / "model.py").read_text()


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


def test_lists_globs_samples_and_what_is_done(tmp_path):
    file = tmp_path / "models.py"
    file.write_text(MODELS)
    models = tmp_path / "models.txt"
    models.write_text(f"{file}:build  # mine\n\n{file}:build\n{file}:fails\n")
    status, lines, skipped = run_cli(f"@{models}", "--out", tmp_path / "out", skip=f"{file}:fails")
    assert (status, list(lines), skipped) == (0, [f"{file}:build"], [f"{file}:fails"])
    models.write_text(f"torchvision:no_such_model\n{file}:build\n")
    _, lines, _ = run_cli(f"@{models}", "--out", tmp_path / "after")
    assert lines[f"{file}:build"]["status"] == "ok", "a line without models stops no other line"
    models.write_text(f"{file}:build\n{file}:fails\n")
    _, lines, _ = run_cli(f"@{tmp_path}/none.txt", f"@{models}", "--sample", 1, "--out", tmp_path / "out")
    assert sorted(line["status"] for line in lines.values())[-1] == "unknown_model" and len(lines) == 2


def test_a_list_that_names_itself_stops_no_other_line(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text(f"timm:a\n@{second}\ntimm:b\n@{tmp_path}/./none.txt\n")
    second.write_text(f"timm:c\n@{tmp_path}/../{tmp_path.name}/first.txt\n@{second}\n")
    # A list that occurs twice, but not in itself, is no error.
    found = list(_zoo.listed([f"@{first}", f"@{second}"]))
    readable = [spec.removeprefix("timm:") for spec, error in found if error is None]
    assert readable == ["a", "c", "b", "c", "a", "b"]
    itself, missing = "the list names itself", "cannot read the list"
    reasons = [str(error).split(": ")[1].partition(";")[0] for _, error in found if error is not None]
    assert reasons == [itself, itself, missing, itself, missing, itself]


def test_a_large_weight_is_sampled_and_filled_when_it_is_read():
    weights = DeferredInit()
    with weights:
        large = torch.nn.Linear(1024, 1024)
        torch.nn.init.normal_(large.weight, mean=0.5, std=0.02)
        table = torch.nn.Embedding(70_000, 8, padding_idx=3)
        read = torch.nn.Linear(1024, 1024)
        total = read.weight.abs().sum().item()
    assert total > 0, "what is read is filled before"
    assert weights.sample_of(read.weight) is read.weight and weights.sample_of(large.bias) is large.bias
    sample = weights.sample_of(large.weight)
    assert sample.numel() < large.weight.numel()
    assert sample.mean().item() == pytest.approx(0.5, abs=0.001) and sample.std().item() == pytest.approx(
        0.02, rel=0.02
    )
    weights.materialise()
    assert large.weight.mean().item() == pytest.approx(0.5, abs=0.001)
    assert large.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert table.weight[3].abs().sum() == 0 and table.weight.std().item() == pytest.approx(1, rel=0.02)


def test_a_sample_that_does_something_else_is_found_out(tmp_path):
    (folder,) = passnet.extract(torch.nn.Linear(4, 8), torch.randn(2, 4), out=tmp_path, name="linear")
    (graph,) = capture(torch.nn.Linear(4, 8), (torch.randn(2, 4),))
    expected = replay.expected_outputs(graph.module.graph)
    assert replay.check(folder, expected)
    file = folder / "weight_meta.py"
    text = file.read_text()
    file.write_text(text.replace("torch.float32", "torch.float64"))
    with pytest.raises(replay.ReplayError, match="output 0"):
        replay.check(folder, expected)
    file.write_text(text.replace("[2, 4]", "[4, 2]"))
    with pytest.raises(replay.ReplayError, match="fails"):
        replay.check(folder, expected)


def test_torchvision_by_name(tmp_path):
    pytest.importorskip("torchvision")
    status, lines, _ = run_cli("torchvision:resnet18", "torchvision:resnt18", "--out", tmp_path)
    assert status == 1
    line = lines["torchvision:resnet18"]
    assert line["folders"] == ["torchvision/resnet18"] and line["ops"] == [69] and line["replayed"] == 1
    assert len(load_metas(tmp_path / "torchvision/resnet18")) == 103
    assert "did you mean resnet18" in lines["torchvision:resnt18"]["reason"]
    fields = json.loads((tmp_path / "torchvision/resnet18/graph_net.json").read_text())
    assert fields["statistics"] == "sampled" and fields["inputs"] == "vision"


def test_an_image_in_tiles_has_as_many_as_the_first_grid_takes():
    from passnet._zoo.sizes import Sizes
    from passnet._zoo.tensors import alternatives

    config = types.SimpleNamespace(image_size=336, image_grid_pinpoints=[[336, 672], [672, 672]])
    image = alternatives("pixel_values", Sizes(config, {"pixel_values", "image_sizes"}))[0]
    assert image.shape == (1, 3, 3, 336, 336)
    del config.image_grid_pinpoints
    image = alternatives("pixel_values", Sizes(config, {"pixel_values", "image_sizes"}))[0]
    assert image.shape == (1, 2, 3, 336, 336)


def test_a_text_is_no_longer_than_the_model_has_positions():
    from passnet._zoo.sizes import Sizes
    from passnet._zoo.tensors import alternatives

    config = types.SimpleNamespace(vocab_size=100, max_position_embeddings=16)
    lengths = [ids.shape[1] for ids in alternatives("input_ids", Sizes(config, {"input_ids"}))]
    assert lengths == [16]
    config.max_position_embeddings = 512
    assert [ids.shape[1] for ids in alternatives("input_ids", Sizes(config, {"input_ids"}))] == [32, 128, 512]


TRAINED = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.norm(self.first(x)))
        return self.last(y.transpose(0, 1).contiguous().view(16, 6).transpose(0, 1))


def build():
    return Net(), (torch.randn(6, 8),)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.lstm = torch.nn.Linear(4, 4), torch.nn.LSTM(4, 8)

    def forward(self, x):
        y, _ = self.lstm(self.first(x).relu())
        return y.tanh()


def build_recurrent():
    return Recurrent(), (torch.randn(5, 2, 4),)


def frozen():
    model = Net()
    model.requires_grad_(False)
    return model, (torch.randn(6, 8),)
"""


def test_a_training_step_is_three_linked_graphs_whose_backward_gives_the_gradients(tmp_path):
    file = tmp_path / "trained.py"
    file.write_text(TRAINED)
    out = tmp_path / "out"
    status, lines, _ = run_cli(f"{file}:build@mode=train", f"{file}:frozen@mode=train", "--out", out, "--jobs", 1)
    line = lines[f"{file}:build@mode=train"]
    frozen = lines[f"{file}:frozen@mode=train"]
    assert (status, frozen["status"]) == (1, "capture_failed") and "gradient" in frozen["reason"]
    assert line["status"] == "ok" and line["replayed"] == 3
    stages = ("eval_forward", "train_forward", "train_backward")
    assert line["folders"] == [f"trained/build-train/{stage}" for stage in stages]
    facts = [json.loads((out / folder / "graph_net.json").read_text()) for folder in line["folders"]]
    assert [fact["stage"] for fact in facts] == list(stages)
    assert all(fact["linked"] == dict(zip(stages, line["folders"], strict=True)) for fact in facts)

    # On inputs of ours the files give the results and gradients of PyTorch.
    model = runpy.run_path(str(file))["build"]()[0]
    x = torch.randn(6, 8)
    expected = model(x)
    tangent = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, list(model.parameters()), tangent)
    values = {f"L_self_modules_{name.replace('.', '_parameters_')}_": p for name, p in model.named_parameters()}
    values["L_x_"] = x
    folders = [out / folder for folder in line["folders"]]
    forward_names, backward_names = (list(load_metas(folder)) for folder in folders[1:])
    with torch.no_grad():
        results = load_graph(folders[1])(**{name: values[name] for name in forward_names})
        torch.testing.assert_close(results[0], expected)
        # The saved value has the name of the variable that the forward returns.
        returned = (folders[1] / "model.py").read_text().rpartition("return (")[2].split(")")[0].split(",")
        saved = dict(zip([name.strip() for name in returned if name.strip()], results, strict=True))
        known = {**values, **saved, **{name: tangent for name in backward_names if name.startswith("tangents")}}
        backward = load_graph(folders[2])(**{name: known[name] for name in backward_names})
    for ours, theirs in zip(backward, gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.skipif(VERSION < (2, 15), reason="Dynamo passes over the whole model")
def test_parts_that_dynamo_passes_over_are_named(tmp_path):
    file = tmp_path / "trained.py"
    file.write_text(TRAINED)
    _, lines, _ = run_cli(f"{file}:build_recurrent", f"{file}:build", "--out", tmp_path / "out", "--jobs", 1)
    partial, whole = lines[f"{file}:build_recurrent"], lines[f"{file}:build"]
    assert partial["status"] == whole["status"] == "ok"
    assert partial["left_out"]["aten::lstm"] == 1 and whole["left_out"] == {}
    facts = [json.loads((tmp_path / "out" / folder / "graph_net.json").read_text()) for folder in partial["folders"]]
    assert all(fact["partial"] and fact["left_out"] == partial["left_out"] for fact in facts)
    assert "partial" not in json.loads((tmp_path / "out" / whole["folders"][0] / "graph_net.json").read_text())


def test_custom_operators_are_named():
    with torch.library._scoped_library("passnet_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: 2 * x, "CompositeExplicitAutograd")
        library.impl("twice", lambda x: torch.empty_like(x), "Meta")
        graph = capture(lambda x: torch.ops.passnet_test.twice(x).relu(), (torch.randn(3),))[0].module.graph
        assert custom_operators(graph) == ["passnet_test::twice"]
