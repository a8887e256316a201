"""A later process reads the times of regions and graphs from the cache, and still compares all results."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import passnet
from passnet._backend import known_effects, regions, timings
from passnet._backend.cache import Store
from passnet._backend.contents import text_of_graph
from passnet._backend.effects import Effects
from passnet._backend.sources import load_passes
from passnet._backend.stopwatch import Comparison
from passnet._backend.timings import Timings
from passnet._compile import channels, whole
from passnet._compile.capture import capture
from passnet._compile.report import Specialisation
from test_compile_regions import PASS, Block

CPU = torch.device("cpu")
WINS, LOSES = Comparison((2.0, 2.0, 2.0), (1.0, 1.0, 1.0)), Comparison((1.0, 1.0, 1.0), (2.0, 2.0, 2.0))


def model(x: torch.Tensor) -> torch.Tensor:
    return (torch.relu(x) * 2 + x.sigmoid()).tanh()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The comparisons of times that are measured: of regions and of graphs. The second function wins."""
    names: list[str] = []
    for module in (regions, whole):
        name = module.__name__.rpartition(".")[2]
        monkeypatch.setattr(module, "compare_times", lambda *_, name=name, **__: names.append(name) or WINS)
    return names


@torch.no_grad()
def compiled(function: Callable[..., Any] = model, **options: Any) -> Specialisation:
    torch.manual_seed(0)
    x = torch.randn(32, 64)
    made = passnet.compile(function, **options)
    for _ in range(2):
        torch.testing.assert_close(made(x), function(x))
    (known,) = made.report().specialisations
    return known


def test_times_are_measured_once(measured: list[str]):
    first = compiled()
    assert measured == ["regions", "whole"] and not any("cache" in note for note in first.notes)
    assert [region.stored for region in first.regions] == [False]
    second = compiled()
    assert measured == ["regions", "whole"]
    assert "2 comparisons of times are from the cache" in second.notes
    (region,) = second.regions
    assert region.stored and region.kept and json.loads(json.dumps(region.as_dict()))["stored"]
    assert (region.eager_ns, region.fused_ns, second.eager_ns, second.fused_ns) == (2.0, 1.0, 2.0, 1.0)


def test_results_are_compared_in_each_process(measured: list[str], monkeypatch: pytest.MonkeyPatch):
    compiled()
    monkeypatch.setattr(regions, "_fault", lambda *_: "its result is not PyTorch's")
    (region, *_) = compiled().regions
    assert not region.kept and region.reason == "its result is not PyTorch's" and not region.stored


def test_a_region_that_lost_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(regions, "compare_times", lambda *_, **__: LOSES)
    first = [region for region in compiled().regions if region.reason == "slower than PyTorch"]
    monkeypatch.setattr(regions, "compare_times", lambda *_, **__: pytest.fail("a region was timed"))
    second = [region for region in compiled().regions if region.reason == "slower than PyTorch"]
    assert first and [dataclasses.replace(region, stored=True) for region in first] == second


def test_a_graph_that_lost_is_left_to_pytorch(measured: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(whole, "compare_times", lambda *_, **__: LOSES)
    compiled()
    monkeypatch.setattr(whole, "compare_times", lambda *_, **__: pytest.fail("a graph was timed"))
    assert any("slower than the captured one" in note for note in compiled().notes)


@torch.no_grad()
def test_cuda_graphs_and_layouts_are_timed_once(measured: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    captured = capture(model, (torch.randn(3, 4),), {})
    run, text = captured.module.forward, text_of_graph(captured.module)
    for _ in range(2):
        known = Timings(Store(tmp_path), CPU)
        assert whole.graph_wins(run, run, text, captured, captured.example, known)
    assert measured == ["whole"] and known.stored == 1
    assert whole.graph_wins(run, run, None, captured, captured.example, known) and measured == ["whole"] * 2

    seen: list[int] = []
    monkeypatch.setattr(channels, "compare_times", lambda *_: seen.append(1) or WINS)
    layers = torch.nn.Sequential(*(torch.nn.Conv2d(4, 4, 3) for _ in range(3))).eval()
    notes = [
        channels.channels_last(
            found := capture(layers, (torch.randn(1, 4, 9, 9),), {}), found.example, known, frozen=True
        )
        for _ in range(2)
    ]
    assert seen == [1] and notes == ["images have their channels innermost"] * 2


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "threads": lambda patch: patch.setattr(torch, "get_num_threads", lambda: 77),
    "machine": lambda patch: patch.setattr(timings, "_cpu", lambda: "another CPU"),
    "PyTorch": lambda patch: patch.setattr(torch, "__version__", "99.0"),
    "environment": lambda patch: patch.setenv("OMP_WAIT_POLICY", "active"),
    "precision": lambda patch: patch.setattr(torch, "get_float32_matmul_precision", lambda: "another"),
    "attention": lambda patch: patch.setattr(torch.backends.cuda, "flash_sdp_enabled", lambda: "another"),
    "launches": lambda patch: patch.setenv("CUDA_LAUNCH_BLOCKING", "1"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_times_of_other_surroundings_are_measured_again(
    change: str, measured: list[str], monkeypatch: pytest.MonkeyPatch
):
    compiled()
    timings._machine.cache_clear()
    CHANGES[change](monkeypatch)
    try:
        # Without the times of the same process under other settings, in which passes are written again.
        known = compiled()
    finally:
        timings._machine.cache_clear()
    assert measured == ["regions", "whole"] * 2 and not known.regions[0].stored


def test_the_default_type_is_one_of_the_surroundings():
    before = [*timings._surroundings(CPU)]
    torch.set_default_dtype(torch.float64)
    try:
        assert [*timings._surroundings(CPU)] != before
    finally:
        torch.set_default_dtype(torch.float32)
    assert [*timings._surroundings(CPU)] == before


def test_other_constants_types_and_code_have_other_times(measured: list[str]):
    compiled()
    compiled(lambda x: (torch.relu(x) * 3 + x.sigmoid()).tanh())
    compiled(lambda x: model(x.double()))
    compiled(lambda x: model(x[:16]))
    assert measured.count("whole") == 4 and measured.count("regions") == 4


def test_passes_of_directories_are_timed_in_each_process(measured: list[str], write_passes: Callable[..., Path]):
    def function(x: torch.Tensor) -> torch.Tensor:
        return (torch.relu(x) + x.cos()).sigmoid() * 2

    passes = write_passes(one=PASS.format(body="return torch.clamp(x, min=0) + y"))
    for _ in range(2):
        known = compiled(function, passes=passes, author=None)
    assert measured == ["regions", "whole"] * 2 and not known.regions[0].stored


BROKEN: list[Any] = [None, 3, "12", {"eager": 1}, {"12": 1, "34": 2}, [[1.0], []], [[], []], [[1.0]], [[1.0], 1.0]]
BROKEN += [[[value], [1.0]] for value in ("x", "1.0", -1.0, 0, True, None, [1.0], float("nan"), float("inf"))]
BROKEN += [[[1.0], [10**400]], [[10**400], [1]], [[1e308], [1e-308]], [[5e-324], [1.0]], ["12", "34"]]


@pytest.mark.parametrize("entry", BROKEN)
def test_an_entry_that_is_no_comparison_counts_as_missing(entry: Any, tmp_path: Path):
    store = Store(tmp_path)
    known = Timings(store, CPU)
    assert known.compare(["text"], lambda: WINS) == WINS
    assert known.read("text") == dataclasses.replace(WINS, stored=True)
    (file,) = tmp_path.rglob("*.json")
    store.write(file.stem, entry)
    again = Timings(store, CPU)
    assert again.read("text") is None and again.stored == 0
    assert again.compare(["text"], lambda: LOSES) == LOSES
    assert again.read("text", "another") is None and again.read("text", None) is None
    deep = b"[" * 100_000
    for content in (b"", b"not an entry", hashlib.sha256(deep).hexdigest().encode() + b"\n" + deep):
        file.write_bytes(content)
        assert again.read("text") is None
    file.unlink()
    file.mkdir()
    assert again.read("text") is None
    assert again.compare(["text"], lambda: WINS) == WINS


@pytest.mark.parametrize(
    "entry", [3, "text", {"a": "b"}, [1], [["name"]], [["name", 3]], [["name", "\ud800"]], [["", ""]]]
)
def test_an_entry_without_passes_counts_as_missing(entry: Any, monkeypatch: pytest.MonkeyPatch):
    expected = len(compiled().regions)
    read = Store.read
    monkeypatch.setattr(Store, "read", lambda self, key: None if read(self, key) is None else entry)
    assert len(compiled().regions) == expected > 0


def test_effects_are_found_once(measured: list[str], monkeypatch: pytest.MonkeyPatch):
    def writes(x: torch.Tensor) -> torch.Tensor:
        y = x.neg()
        return y.relu_().sigmoid() * 2 + y

    found = [compiled(function) for function in (model, writes)]
    monkeypatch.setattr(known_effects, "effects_of", lambda *_: pytest.fail("effects were found again"))
    again = [compiled(function) for function in (model, writes)]
    for before, after in zip(found, again, strict=True):
        assert before.regions and [region.written for region in before.regions] == [
            region.written for region in after.regions
        ]


@torch.no_grad()
def test_effects_depend_on_the_memory_that_arguments_share(tmp_path: Path):
    def written(x: torch.Tensor, y: torch.Tensor) -> frozenset[int]:
        return known_effects.known_effects(rule, lambda x, y: x.relu_() + y, (x, y), Store(tmp_path)).mutated

    (rule,) = load_passes([("one", PASS.format(body="return torch.relu_(x) + y"))])[0]
    base, other = torch.randn(8), torch.randn(4)
    for _ in range(2):
        assert written(base[:4], other) == {0}
        assert written(base[:4], base[2:6]) == {0, 1}
        assert written(base[:4], base.data[2:6]) == {0}
        assert written(other, other) == {0, 1}
    assert len([*tmp_path.rglob("*.json")]) == 4


@pytest.mark.parametrize("entry", [None, 1, [], [[0]], [[0], 1], [[-1], True], [[2], True], [["0"], True], [0, True]])
def test_an_entry_without_effects_counts_as_missing(entry: Any):
    assert known_effects._effects(entry, 2) is None
    assert known_effects._effects([[0, 1], True], 2) == Effects(frozenset([0, 1]), True, (), None)


def test_times_of_a_disturbed_machine_are_not_stored(tmp_path: Path):
    known = Timings(Store(tmp_path), CPU)
    disturbed = Comparison((10.0, 10.0, 9.0, 30.0), (10.0, 30.0, 11.0, 10.0))
    assert known.compare(["text"], lambda: disturbed) == disturbed
    assert known.read("text") is None
    # The faster function is known in spite of one slow round.
    clear = Comparison((10.0, 10.0, 10.0, 10.0), (5.0, 5.0, 50.0, 5.0))
    known.compare(["text"], lambda: clear)
    assert known.read("text") == dataclasses.replace(clear, stored=True)


@torch.no_grad()
def test_only_graphs_that_a_text_defines_have_one():
    @torch.library.custom_op("passnet_timings::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_fake(torch.empty_like)

    def text(function: Callable[..., Any]) -> str | None:
        return text_of_graph(capture(function, (torch.ones(3, 4),), {}).module)

    assert text(lambda x: x.cos() + 1) == text(lambda y: y.cos() + 1)
    assert text(lambda x: x.cos() + 1) not in (text(lambda x: x.cos() + 2), text(lambda x: x.sin() + 1), None)
    assert text(lambda x: x.sum(0)) != text(lambda x: x.sum(1))
    assert text(lambda x: double(x) + 1) is None


SCRIPT = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from passnet._backend import regions
from passnet._compile import channels, whole
if sys.argv[2] == "stored":
    def compare_times(*_, **__):
        raise AssertionError("times were measured again")
    regions.compare_times = whole.compare_times = compare_times
import passnet
from test_compile_regions import Block
torch.manual_seed(0)
block = Block().eval()
compiled = passnet.compile(block)
with torch.no_grad():
    for _ in range(2):
        x = torch.randn(128, 64)
        torch.testing.assert_close(compiled(x), block(x), rtol=1e-4, atol=1e-5)
(known,) = compiled.report().specialisations
assert not compiled.report().eager, compiled.report()
print(sum(region.stored for region in known.regions), len(known.regions), known.notes)
"""


def test_other_processes_read_the_times_of_the_first(monkeypatch: pytest.MonkeyPatch):
    def run(mode: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), mode]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    # Two at once. If their times were disturbed, this process stores other ones in their place.
    assert [process.wait() for process in [run("new"), run("new")]] == [0, 0]
    monkeypatch.setattr(Comparison, "is_decided", True)
    block = Block().eval()
    with torch.no_grad():
        passnet.compile(block)(torch.randn(128, 64))
    last = run("stored")
    text, _ = last.communicate()
    assert last.returncode == 0 and "comparisons of times are from the cache" in text
