"""The recipe that trains a decoder from random weights, in small: graphs, variants, lessons, copy baseline, training, generation."""

import csv
import io
import json
import os
import random
import shutil
import subprocess
import sys

import numpy
import pytest
import torch

from agent_command import ROOT, binary, passnet

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


def test_a_tokenizer_survives_the_way_there_and_back(tmp_path):
    from tokenizer import Tokenizer

    text = "def pattern(in0):\n    return in0 + 1234\n"
    tokenizer = Tokenizer.learn([text] * 3, 140)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    # A number has the same tokens wherever it is, so that it can be copied.
    (number,) = tokenizer.encode("1234")
    assert number in tokenizer.encode("(1234, 5)") and tokenizer.tokens[number] == "1234"
    helper = "@triton.jit\ndef larger(a, b):\n    return tl.where((a > b) | (a != a), a, b)"
    texts = [f"{text}\n\n{helper}\n\n\nx = {number}\n" for number in range(8)]
    tokenizer = Tokenizer.learn(texts, 300)
    assert tokenizer.blocks == [helper] and len(tokenizer.encode(helper)) == 1
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert all(again.decode(again.encode(text)) == text for text in texts)


PROMPT = """in_0: float16[4, 8]
in_1: float16[8]
tmp_0 = in_0 + in_1  # float16[4, 8]
tmp_1 = torch.relu(tmp_0)  # float16[4, 8]
tmp_2 = tmp_1.transpose(0, 1)  # float16[8, 4] strides [1, 8]
in_0 += tmp_1  # float16[4, 8]
tmp_3 = in_0  # float16[4, 8]
4, 8 = 32, 8
return (tmp_2, tmp_3)
"""
SKETCH = """# pass tmp_0 tmp_1 -> tmp_1
# laid out in0
@kernels.triton
@triton.jit
def kernel0(in0, in1, out0):
    i = tl.program_id(0) * 32 + tl.arange(0, 32)
    tl.store(out0 + i, tl.load(in0 + i) + tl.load(in1 + i % 8))
# launch
out0 = torch.empty_strided(shape0, stride0, dtype=dtype0, device=in0.device)
kernel0[1,](in0, in1, out0, num_warps=1)
return out0
"""


def test_a_sketch_becomes_a_pass_and_comes_back():
    from lessons import ORDER_FILE, answer_of, files_of

    files = files_of(SKETCH, PROMPT)
    text = files["pass_0.py"]
    assert json.loads(files[ORDER_FILE]) == ["pass_0"]
    assert "def pattern(in0, in1):\n    t0 = in0 + in1\n    t1 = torch.relu(t0)\n    return t1\n" in text
    assert "((4, 8), torch.float16, (8,), torch.float16): ((4, 8), (8, 1), torch.float16)" in text
    assert "in0 = kernels.with_strides(in0, layout0)" in text
    assert answer_of(files, PROMPT) == SKETCH
    # Statements that write into a value are calls, and a value has its last name.
    again = files_of(SKETCH.replace("tmp_0 tmp_1 -> tmp_1", "tmp_1 tmp_3 -> tmp_3"), PROMPT)["pass_0.py"]
    assert "    t0 = torch.relu(in0)\n    t1 = operator.iadd(in1, t0)\n    return t1\n" in again


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("# pass tmp_0 tmp_1", "# pass tmp_0 tmp_9", "no statement"),
        ("-> tmp_1", "-> tmp_2", "no value of the pass"),
        ("laid out in0", "laid out in7", "no such argument"),
        ("in0.device", "in0.device, layout=dtype3", "of no result"),
        ("return out0", "return (out0", "no Python"),
        ("# launch\n", "", "no launch"),
        ("num_warps=1", "num_warps=programs0", "no programs0"),
    ],
)
def test_an_answer_that_is_no_sketch_does_not_load(old, new, why):
    from lessons import files_of
    from patterns import Graph, SketchError
    from sketch import expand, read

    answer = SKETCH.replace(old, new)
    with pytest.raises(SketchError, match=why):
        expand(read(answer)[0], Graph(PROMPT))
    (text,) = [text for name, text in files_of(answer, PROMPT).items() if name.endswith(".py")]
    assert "def pattern" not in text and "raise" in text


def test_the_passes_of_the_author_have_sketches(suite, tmp_path):
    from graphs import read_graph
    from lessons import answer_of, files_of
    from sketch import normal

    passnet("fuse", suite / "train", "--device", "cuda", "--out", tmp_path)
    for folder in tmp_path.iterdir():
        sample = min(path for path in (suite / "train" / folder.name).iterdir())
        prompt = read_graph(sample).prompt()
        files = {path.name: path.read_text() for path in folder.iterdir()}
        answer = answer_of(files, prompt)
        written = [text for name, text in files_of(answer, prompt).items() if name.endswith(".py")]
        ours = [files[f"fuse_{number}.py"] for number in range(len(written))]
        assert len(written) == len(files) - 1 and len(answer) < 0.6 * sum(map(len, ours))
        assert [normal(text).count("\n") for text in written] == [normal(text).count("\n") for text in ours]


def test_no_pass_is_an_answer():
    from lessons import NOTHING, ORDER_FILE, answer_of, files_of

    assert answer_of({ORDER_FILE: "[]"}, PROMPT) == NOTHING
    assert files_of(NOTHING, PROMPT) == files_of("", PROMPT) == {ORDER_FILE: "[]\n"}
    assert files_of("garbage", PROMPT)[ORDER_FILE] != "[]\n"


@pytest.mark.long
def test_the_first_answer_that_matches_is_handed_in(suite, tmp_path):
    from lessons import write_passes

    (task,) = [path.name for path in (suite / "eval").iterdir()]
    passnet("fuse", suite / "eval", "--device", "cuda", "--out", tmp_path / "right")
    write_passes(tmp_path / "first" / task, "garbage", PROMPT)
    write_passes(tmp_path / "second" / task, SKETCH, PROMPT)
    shutil.copytree(suite / "eval", tmp_path / "graphs")
    command = subprocess.run(
        [sys.executable, HERE / "pick.py", binary(), tmp_path / "graphs", tmp_path / "out"]
        + [tmp_path / name for name in ("first", "second", "right")],
        capture_output=True,
        text=True,
    )
    assert command.returncode == 0, command.stderr
    assert json.loads(command.stdout) == {"tasks": 1, "first": 0, "later": 1, "none": 0}
    assert (tmp_path / "out" / task / "fuse_0.py").is_file()


def test_the_most_similar_prompts_are_found():
    from nearest import Index

    others = [PROMPT.replace("relu", name).replace("8", size) for name in ("exp", "sin") for size in ("8", "16")]
    index = Index([*others, PROMPT.replace("float16", "float32"), PROMPT])
    ranked = index.nearest(PROMPT)
    assert ranked[0] == (1.0, 5) and ranked == sorted(ranked, key=lambda each: -each[0])


def test_generation_with_a_cache_equals_generation_without():
    from model import Decoder, Shape

    torch.manual_seed(0)
    model = Decoder(Shape(vocabulary=50, width=32, layers=2, heads=2, context=64)).eval()
    prompts = [[5, 6, 7], [8, 9, 10, 11, 12], [3]]
    answers = model.generate(prompts, end=2, room=12)
    for prompt, answer in zip(prompts, answers, strict=True):
        tokens = list(prompt)
        for _ in range(12):
            chosen = int(alone(model, torch.tensor(tokens))[-1].argmax())
            if chosen == 2:
                break
            tokens.append(chosen)
        assert tokens[len(prompt) :] == answer


def test_packed_lessons_do_not_see_each_other():
    from model import Decoder, Shape

    torch.manual_seed(0)
    model = Decoder(Shape(vocabulary=50, width=32, layers=2, heads=2, context=64)).eval()
    first, second = torch.randint(3, 50, (9,)), torch.randint(3, 50, (5,))
    begins = torch.tensor([0, 9, 14, 14], dtype=torch.int32)
    positions = torch.cat([torch.arange(9), torch.arange(5)])
    packed = model(torch.cat([first, second]), positions, begins, 9)
    assert torch.allclose(packed[:9], alone(model, first), atol=1e-5)
    assert torch.allclose(packed[9:], alone(model, second), atol=1e-5)


def alone(model, tokens):
    return model(tokens, torch.arange(len(tokens)), torch.tensor([0, len(tokens)], dtype=torch.int32), len(tokens))


def test_batches_have_every_lesson_once_and_weigh_its_answer():
    from data import PROMPT_WEIGHT, Lessons

    prompts, lengths = numpy.array([3, 4, 2]), numpy.array([10, 40, 9])
    begins = numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]])
    tokens = numpy.arange(1, 60)
    lessons = Lessons(tokens, begins, prompts, lengths, [0, 1, 2], [], random.Random(0))
    batches = list(lessons.batches([0, 1, 2], 64))
    assert [sorted(int(token) for token in batch.tokens if token) for batch in batches] == [
        list(range(1, 51)),
        list(range(51, 60)),
    ]
    (weights, _) = (batch.weights for batch in batches)
    assert weights[:10].tolist() == pytest.approx([PROMPT_WEIGHT] * 2 + [1.0] * 7 + [0.0])
    assert all(batch.begins.diff().max() <= lessons.longest and batch.begins[-1] == 64 for batch in batches)
    lessons.add([([5, 6], [7, 3])], repeats=2)
    assert lessons.train == [0, 1, 2, 3, 3] and lessons.longest == 40


def test_a_launch_is_written_as_the_division_that_it_is():
    from lessons import compact

    kernel = "def kernel0(in0, out0):\n    i = tl.program_id(0) * 128 + tl.arange(0, 128)\n"
    bounded = kernel + "    inside = i < 1764\n"
    launch = "\n\n\ndef fused(in0):\n    kernel0[(14,)](in0, out0)\n"
    assert "kernel0[(-(-1764 // 128),)]" in compact(bounded + launch)
    assert "kernel0[(-(-1792 // 128),)]" in compact(kernel + launch)
    rows = "def kernel0(in0):\n    row = tl.program_id(0)\n" + launch
    assert compact('"""One kernel."""\n\n# A comment.\n' + rows) == rows


@pytest.mark.long
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
    # One task of three is to practise on, so no lesson is of it.
    data, out = tmp_path / "data", tmp_path / "out"
    script(
        "prepare.py",
        "--out",
        data,
        "--tasks",
        suite / "eval",
        "--task-step",
        1,
        "--vocabulary",
        400,
        "--practice",
        suite / "train",
        "--practice-step",
        3,
        *lessons,
    )
    report = json.loads((data / "report.json").read_text())
    assert report["lessons"] > 0 and report["shared_op_sequences"] == 0 and report["dropped"]["shared with a task"] >= 1
    assert report["practice"] == 1 and report["dropped"]["to practise on"] >= 1
    assert len(numpy.load(data / "lessons.npz")["prompts"]) == report["lessons"]
    script("nearest.py", data, data / "nearest")
    task = "mixer-token-residual-norm"
    assert (data / f"nearest/copy-0/{task}/pass_0.py").read_text().count("def pattern") == 1
    assert (data / f"nearest/sketch-0/{task}").is_dir() and len(list((data / "graphs" / task).iterdir())) == 1
    flags = ["--device", "cpu", "--seconds", 4, "--checkpoints", "1", "--width", 32, "--layers", 1, "--heads", 2]
    script("train.py", data, out, *flags, "--batch-tokens", 4096, "--generate-tokens", 8)
    events = [json.loads(line) for line in (out / "curve.jsonl").read_text().splitlines()]
    assert events[0] == {"event": "started", "schema_version": 1, "name": "out"}
    assert events[-1]["event"] == "checkpoint" and events[-1]["author"] == "share-1"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["steps"] > 0 and summary["parameters"] > 0
    practice = json.loads((data / "practice.json").read_text())
    assert [task["id"] for task in practice] == ["densenet-bn-relu"]
    pairs = [{"prompt": practice[0]["prompt"], "answer": "# no pass\n" * size} for size in (1, 9999, 2)]
    (tmp_path / "extra.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    flags += ["--begin", out / "checkpoint.pt", "--extra", tmp_path / "extra.jsonl", "--repeats", 5]
    script("train.py", data, tmp_path / "again", *flags, "--batch-tokens", 4096, "--generate-tokens", 8)
    again = json.loads((tmp_path / "again/summary.json").read_text())
    # The lesson that is longer than the context is left out.
    assert again["lessons_per_epoch"] == summary["lessons_per_epoch"] + 10
    script(
        "generate.py",
        data,
        out / "checkpoint.pt",
        tmp_path / "sampled",
        "--device",
        "cpu",
        "--tasks",
        "practice.json",
        "--samples",
        2,
        "--generate-tokens",
        8,
    )
    for number in (1, 2):
        assert [path.name for path in (tmp_path / f"sampled-{number}").iterdir()] == ["densenet-bn-relu"]
        assert "densenet-bn-relu" in json.loads((tmp_path / f"sampled-{number}.json").read_text())
    for step in ("step-0", "share-1"):
        assert (out / "passes" / step / "mixer-token-residual-norm/sorted_output_pass_rule_names.json").is_file()


def test_an_evaluation_leaves_a_run_that_boards_can_show(tmp_path):
    task, out = "gpt2-gelu-tanh", tmp_path / "out"
    graph = min(path for path in (ROOT / "suites/demo" / task).iterdir() if path.is_dir())
    (tmp_path / "suite" / task).mkdir(parents=True)
    (tmp_path / "suite" / task / graph.name).symlink_to(graph)
    (tmp_path / "answers").mkdir()
    shutil.copytree(ROOT / "suites/demo/passes" / task, tmp_path / "answers" / task)
    settings = {"SUITE": str(tmp_path / "suite"), "DEVICE": "cpu", "GRAPHS": "all"}
    # The kernel is compiled within the time limit, on a machine that runs other tests.
    settings |= {"TRIALS": "10", "JOBS": "1", "TIMEOUT": "300"}
    subprocess.run(
        ["bash", HERE / "evaluate.sh", binary(), "all", out, f"decoder={tmp_path / 'answers'}"],
        env={**os.environ, "PASSNET_PYTHON": sys.executable, **settings},
        check=True,
        capture_output=True,
    )
    shutil.unpack_archive(out / "runs.tar.gz", tmp_path / "runs")
    (run,) = json.loads(passnet("report", tmp_path / "runs", "--format", "json"))["runs"]
    assert run["header"]["metadata"]["name"] == "decoder" and run["header"]["graphs"] == 1
    assert "decoder" in passnet("report", tmp_path / "runs")
    (verdict,) = csv.DictReader(io.StringIO(passnet("report", tmp_path / "runs", "--format", "csv")))
    assert verdict["task"] == task and verdict["status"] in ("correct", "unstable")
    passnet("bundle", tmp_path / "runs/decoder", "--out", tmp_path / "decoder.pnb")
