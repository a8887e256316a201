"""The recipe that trains a decoder from random weights, in small: graphs, variants, lessons, copy baseline, training, generation."""

import json
import random
import subprocess
import sys

import numpy
import pytest
import torch

from agent_command import ROOT, passnet

HERE = ROOT / "recipes/from_scratch"


@pytest.fixture(scope="module", autouse=True)
def recipe_on_path():
    # Other tests import files of the same names.
    names = [file.stem for file in HERE.glob("*.py")]
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(HERE))
    yield
    sys.path.remove(str(HERE))
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(hidden)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Some tasks of the demo suite as training, one as evaluation."""
    folder = tmp_path_factory.mktemp("suite")
    for kind, names in [
        ("train", ["gpt2-gelu-tanh", "densenet-bn-relu", "llama-rms-norm"]),
        ("eval", ["mixer-token-residual-norm"]),
    ]:
        for name in names:
            graph = min(path for path in (ROOT / "suites/demo" / name).iterdir() if path.is_dir())
            (folder / kind / name).mkdir(parents=True)
            (folder / kind / name / graph.name).symlink_to(graph)
    return folder


def script(name, *arguments):
    done = subprocess.run([sys.executable, HERE / name, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_graphs_and_their_variants(suite):
    from graphs import read_graph
    from variants import at_dtype, at_other_extent, range_of

    (folder,) = (suite / "train/gpt2-gelu-tanh").iterdir()
    graph = read_graph(folder)
    assert graph.ops()[0] == "mul" and "tanh" in graph.ops()
    first, *_, last = graph.text().splitlines()
    assert first.startswith("in_0: float32[") and last.startswith("return tmp_")
    assert "float16[" in at_dtype(graph, "float16").text()
    randomness = random.Random(0)
    ranges = [part for part in (range_of(graph, randomness) for _ in range(20)) if part]
    assert ranges and all(len(part.statements) <= len(graph.statements) for part in ranges)
    assert all(name.startswith(("in_", "tmp_")) for part in ranges for name in [*part.inputs, *part.outputs])
    others = [other for other in (at_other_extent(graph, randomness) for _ in range(20)) if other]
    assert others and all(other.ops() == graph.ops() and other.text() != graph.text() for other in others)


def test_a_tokenizer_and_an_answer_survive_the_way_there_and_back():
    from lessons import ORDER_FILE, answer_of, files_of
    from tokenizer import Tokenizer

    text = "def pattern(in0):\n    return in0 + 1234\n"
    tokenizer = Tokenizer.learn([text] * 3, 140)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert [tokenizer.tokens[token] for token in tokenizer.encode("1234")] == ["1", "2", "3", "4"]
    files = {"b.py": text, "a.py": "A = 1\n", ORDER_FILE: '["b"]\n'}
    again = files_of(answer_of({**files, ORDER_FILE: '["a", "b"]\n'}))
    assert again == {"a.py": "A = 1\n", "b.py": text, ORDER_FILE: '["a", "b"]\n'}
    assert set(files_of("# file: ../../x.py\n1\n")) == {"x.py", ORDER_FILE}
    assert set(files_of("garbage")) == {"pass.py", ORDER_FILE}
    assert files_of("") == {ORDER_FILE: "[]\n"}


def test_generation_with_a_cache_equals_generation_without():
    from model import Decoder, Shape

    torch.manual_seed(0)
    model = Decoder(Shape(vocabulary=50, width=32, layers=2, heads=2, context=64)).eval()
    prompts = [[5, 6, 7], [8, 9, 10, 11, 12], [3]]
    answers = model.generate(prompts, end=2, room=12)
    for prompt, answer in zip(prompts, answers, strict=True):
        tokens = list(prompt)
        for _ in range(12):
            chosen = int(model(torch.tensor([tokens]))[0, -1].argmax())
            if chosen == 2:
                break
            tokens.append(chosen)
        assert tokens[len(prompt) :] == answer


def test_all_steps(suite, tmp_path):
    script(
        "variants.py", suite / "train", tmp_path / "variants", "--ranges", 2, "--extents", 1, "--avoid", suite / "eval"
    )
    passnet("fuse", tmp_path / "variants", "--device", "cuda", "--out", tmp_path / "passes")
    lessons = ["--lessons", tmp_path / "variants", tmp_path / "passes"]
    # A lesson of the evaluated task itself has to be found and dropped.
    (tmp_path / "cheat").mkdir()
    passnet("fuse", suite / "eval", "--device", "cuda", "--out", tmp_path / "cheat")
    lessons += ["--lessons", suite / "eval", tmp_path / "cheat"]
    data, out = tmp_path / "data", tmp_path / "out"
    script("prepare.py", "--out", data, "--tasks", suite / "eval", "--task-step", 1, "--vocabulary", 400, *lessons)
    report = json.loads((data / "report.json").read_text())
    assert report["lessons"] > 0 and report["shared_op_sequences"] == 0 and report["dropped"]["shared with a task"] >= 1
    assert len(numpy.load(data / "lessons.npz")["prompts"]) == report["lessons"]
    script("nearest.py", data, data / "nearest")
    assert (data / "nearest/mixer-token-residual-norm/fuse_0.py").read_text().count("def pattern") == 1
    flags = ["--device", "cpu", "--seconds", 4, "--checkpoints", "1", "--width", 32, "--layers", 1, "--heads", 2]
    script("train.py", data, out, *flags, "--batch-tokens", 4096, "--generate-tokens", 8)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["steps"] > 0 and summary["parameters"] > 0
    for step in ("step-0", "share-1"):
        assert (out / "passes" / step / "mixer-token-residual-norm/sorted_output_pass_rule_names.json").is_file()
