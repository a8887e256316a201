"""`passnet.compile`: passes are compared with PyTorch and timed; what is wrong or loses is dropped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import passnet
from passnet._backend import author
from passnet._backend.author import author_passes
from passnet._backend.cache import Store, key_of
from passnet._backend.precision import is_as_precise
from passnet._backend.stopwatch import Comparison
from passnet._compile.capture import capture
from passnet._compile.report import Specialisation

PASS = """
import time
import torch

def pattern(x, y):
    return torch.relu(x) + y

def replacement_args(x, y):
    return (x, y)

def fused(x, y):
    {body}

def replacement_func():
    return fused
"""


def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (torch.relu(x) + y).sigmoid() * 2


def compiled_with(write_passes: Callable[..., Path], body: str, **options: Any) -> Specialisation:
    """The report of a function whose `relu + add` is replaced; its results are those of PyTorch."""
    compiled = passnet.compile(model, passes=write_passes(one=PASS.format(body=body)), author=None, **options)
    x, y = torch.randn(64, 64), torch.randn(64, 64)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x, y), model(x, y))
    assert compiled.report().eager == {}
    (known,) = compiled.report().specialisations
    return known


def test_a_region_that_is_right_is_kept(write_passes: Callable[..., Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Comparison, "loses", False)
    (region,) = compiled_with(write_passes, "return torch.clamp(x, min=0) + y").regions
    assert region.kept and region.operations == 2 and region.eager_ns > 0
    assert json.dumps(region.as_dict())


WRONG = {
    "return torch.relu(x) + y * 1.01": "values differ",
    "return (torch.relu(x) + y).double()": "dtype",
    "return (torch.relu(x) + y).t()": "strides",
    "return torch.relu(x)[:1] + y[:1]": "shape",
    "raise ValueError('only on Mondays')": "only on Mondays",
    "return None": "instead of a tensor",
    "out = torch.relu(x) + y; x.mul_(-1); return out": "values differ",
    "return (torch.relu(x) + y, y)[1].add_(torch.relu(x))": "shares memory with an argument",
}


@pytest.mark.parametrize("body", WRONG)
def test_a_region_that_is_wrong_is_dropped(write_passes: Callable[..., Path], body: str):
    (region,) = compiled_with(write_passes, body).regions
    assert not region.kept and WRONG[body] in region.reason


def test_a_region_that_loses_is_dropped(write_passes: Callable[..., Path]):
    (region,) = compiled_with(write_passes, "time.sleep(0.002); return torch.relu(x) + y").regions
    assert not region.kept and region.reason == "slower than PyTorch"
    assert region.fused_ns > region.eager_ns


def test_without_verification_a_refusal_is_still_harmless(write_passes: Callable[..., Path]):
    passes = write_passes(one=PASS.format(body="raise ValueError('never')"))
    compiled = passnet.compile(model, passes=passes, author=None, verify=False)
    x = torch.randn(4, 4)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x, x + 1), model(x, x + 1))
    assert any("never" in reason for reason in compiled.report().eager)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(64), torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))) * 0.5 + x.sigmoid()


def test_the_author_writes_passes_that_are_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Comparison, "loses", False)
    block = Block().eval()
    compiled = passnet.compile(block)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(128, 64)
            torch.testing.assert_close(compiled(x), block(x), rtol=1e-4, atol=1e-5)
    (known,) = compiled.report().specialisations
    assert known.regions and all(region.kept and region.rule.startswith("author:") for region in known.regions)


def test_the_backend_of_torch_compile_authors_too():
    torch._dynamo.reset()
    block = Block().eval()
    compiled = torch.compile(block, backend=passnet.backend.passnet)
    with torch.no_grad():
        for size in (128, 128, 96, 64):
            x = torch.randn(size, 64)
            torch.testing.assert_close(compiled(x), block(x), rtol=1e-4, atol=1e-5)
    graphs = passnet.backend.report(block).as_dict()["graphs"]
    assert any(rule["matches"] for rule in graphs[0]["passes"])
    torch._dynamo.reset()


def test_symbolic_sizes_and_modes_within_a_graph_are_left_alone():
    class AutocastBlock(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu"):
                return super().forward(x)

    graphs: list[torch.fx.Graph] = []

    def keep(module: torch.fx.GraphModule, _inputs: Any) -> Any:
        graphs.append(module.graph)
        return module.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(AutocastBlock(), backend=keep)(torch.randn(8, 64))
        torch.compile(lambda x: torch.relu(x) + x, backend=keep, dynamic=True)(torch.randn(8, 64))
    assert [author_passes(graph).passes for graph in graphs] == [[], []]
    torch._dynamo.reset()


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([1.0, 2.0, 3.0], True),
        ([1.0, 2.0, 3.0 + 1e-6], True),
        ([1.0, 2.0, 3.01], False),
        ([1.0, 2.0, float("nan")], False),
        ([1.0, 2.0, float("inf")], False),
    ],
)
def test_precision_is_judged_in_float64(ours: list[float], expected: bool):
    theirs, exact = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert is_as_precise(torch.tensor(ours), theirs, exact) == expected


def test_a_more_precise_result_than_pytorchs_is_right():
    exact = torch.tensor([1.0, float("inf"), float("nan")], dtype=torch.float64)
    theirs = torch.tensor([1.1, float("inf"), float("nan")])
    assert is_as_precise((exact.float(),), (theirs,), (exact,))
    assert not is_as_precise(exact.float(), theirs, (exact, exact))


def test_a_comparison_is_lost_by_most_rounds_and_the_best():
    assert Comparison((10.0, 10.0, 10.0), (11.0, 12.0, 11.0)).loses
    assert not Comparison((10.0, 10.0, 10.0), (9.0, 30.0, 30.0)).loses
    # Rounds that agree by far are enough; others need more.
    assert Comparison((10.0, 10.0, 10.0), (9.0, 8.0, 5.0)).is_clear
    assert Comparison((10.0, 10.0, 10.0), (12.0, 20.0, 13.0)).is_clear
    assert not Comparison((10.0, 10.0, 10.0), (9.0, 8.0, 11.0)).is_clear
    assert not Comparison((10.0, 10.0, 10.0), (10.2, 10.1, 10.3)).is_clear
    assert not Comparison((10.0, 10.0, 9.0), (10.0, 10.1, 50.0)).loses


def test_a_store_returns_what_was_written(tmp_path: Path):
    store = Store(tmp_path)
    key = key_of("a", "bc")
    assert key != key_of("ab", "c") and store.read(key) is None
    store.write(key, [["name", "text"]])
    assert store.read(key) == [["name", "text"]]
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(file.read_bytes()[:-3])
    assert store.read(key) is None
    store.write(key, 1)
    assert store.read(key) == 1
    # A path that cannot be a directory costs nothing but time.
    Store(file).write(key, 2)
    assert Store(file).read(key) is None


SCRIPT = """
import sys, torch
from passnet import _native
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "stored":
    def write_passes(*_):
        raise AssertionError("the author was asked again")
    _native.write_passes = write_passes
import passnet
from test_compile_regions import Block
torch.manual_seed(0)
block = Block().eval()
compiled = passnet.compile(block)
with torch.no_grad():
    for _ in range(2):
        x = torch.randn(128, 64)
        torch.testing.assert_close(compiled(x), block(x), rtol=1e-4, atol=1e-5)
assert compiled.report().specialisations[0].regions
"""


def test_other_processes_use_what_one_has_written():
    def run(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", SCRIPT, str(Path(__file__).parent), *arguments])

    # Two at once, then one that may not ask the author.
    first = [run("new") for _ in range(2)]
    assert [process.wait() for process in first] == [0, 0]
    assert run("stored").wait() == 0


@pytest.mark.long
def test_changing_sizes_leave_no_memory_behind():
    block = Block().eval()
    compiled = passnet.compile(block, limit=4, verify=False)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    started, before = time.monotonic(), 0
    with torch.no_grad():
        for number in range(10_000):
            x = torch.full((1 + number % 6, 64), float(number % 7))
            found = compiled(x)
            if number % 500 == 0:
                torch.testing.assert_close(found, block(x), rtol=1e-4, atol=1e-5)
            if number == 2000:
                before = resident()
    assert len(compiled.report().specialisations) == 4
    # Less than one page for each ten calls.
    assert resident() - before < 800, time.monotonic() - started


def test_judged_regions_may_feed_a_convolution():
    """On a GPU a convolution in TF32 enlarges last places: only what is compared with exact results may come before it."""
    layers = [torch.nn.Conv2d(4, 8, 3), torch.nn.GroupNorm(2, 8), torch.nn.SiLU(), torch.nn.Conv2d(8, 4, 3)]
    with torch.no_grad():
        captured = capture(torch.nn.Sequential(*layers), (torch.randn(1, 4, 66, 66),), {})
    wire, types = author._typed(captured.module.graph, "cpu")
    texts = [author._native.write_passes(wire, types, "cuda", judged) for judged in ("", "whole")]
    assert ["group_norm" in text for passes in texts for _, text in passes] == [False, True]


@pytest.mark.parametrize("reads", [False, True])
@torch.no_grad()
def test_writes_to_values_that_nothing_reads_are_no_difference(reads: bool, monkeypatch: pytest.MonkeyPatch):
    """The author's kernels leave out what an in-place ReLU writes where nothing sees it."""
    monkeypatch.setattr(Comparison, "loses", False)
    torch.manual_seed(0)
    convolution = torch.nn.Conv2d(3, 8, 1)

    class Rectified(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = convolution

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = self.convolution(x)
            z = torch.nn.functional.relu(y, inplace=True) * 2 + 1
            return (z, y) if reads else (z,)

    model, x = Rectified(), torch.randn(2, 3, 16, 16)
    compiled = passnet.compile(model)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), model(x))
    (known,) = compiled.report().specialisations
    assert reads or (known.regions and all(region.kept for region in known.regions)), compiled.report()


@torch.no_grad()
def test_a_region_that_is_refused_as_a_whole_is_tried_in_parts(monkeypatch: pytest.MonkeyPatch):
    """A kernel cannot give a result and a view of it that share memory. It gives the result."""
    monkeypatch.setattr("passnet._compile.build.left_to_pytorch", lambda _: set())

    def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x * 2 + 1) * 3
        return y, y.t()

    x = torch.randn(8, 64)
    compiled = passnet.compile(model)
    found, expected = compiled(x), model(x)
    torch.testing.assert_close(found, expected)
    assert found[0].data_ptr() == found[1].data_ptr()
    (known,) = compiled.report().specialisations
    whole, part = known.regions
    assert (whole.kept, whole.operations, part.operations) == (False, 5, 4)
    assert "share memory" in whole.reason and part.rule == f"{whole.rule}_part_0" and part.rule in known.texts


def test_parts_of_a_region_leave_its_products_to_the_library():
    def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.nn.functional.linear(torch.sigmoid(x) * 2, w) + 1)

    with torch.no_grad():
        captured = capture(model, [torch.randn(64, 64, dtype=torch.bfloat16) for _ in range(2)], {})
    wire, types = author._typed(captured.module.graph, "cpu")
    products = {
        judged: any("linear" in text for _, text in author._native.write_passes(wire, types, "cuda", judged))
        for judged in ("whole", "parts")
    }
    assert products == {"whole": True, "parts": False}


@torch.no_grad()
def test_a_wrong_region_of_a_call_that_writes_is_dropped(write_passes: Callable[..., Path]):
    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.add_(1)
        return (torch.relu(x) + y).sigmoid() * 2

    passes = write_passes(one=PASS.format(body="return torch.relu(x) + y + 1"))
    x, y = torch.randn(8, 8), torch.zeros(8, 8)
    compiled = passnet.compile(model, passes=passes, author=None)
    torch.testing.assert_close(compiled(x, y), model(x, torch.zeros(8, 8)))
    (region,) = compiled.report().specialisations[0].regions
    assert not region.kept and "values differ by up to 1" in region.reason


@torch.no_grad()
def test_a_lazily_negated_view_is_left_to_pytorch(write_passes: Callable[..., Path]):
    """The memory of such a tensor has other values than the tensor, and copies do not: comparing with them shows no difference."""
    body = "return torch.relu(torch._neg_view(x) if x.is_neg() else x) + y"
    compiled = passnet.compile(model, passes=write_passes(one=PASS.format(body=body)), author=None)
    z, y = torch.randn(8, 8, dtype=torch.complex64), torch.randn(8, 8)
    for x in (z.conj().imag, z.imag, z.conj().imag):
        for _ in range(2):
            torch.testing.assert_close(compiled(x, y), model(x, y))
    reasons = [region.reason for kind in compiled.report().specialisations for region in kind.regions]
    assert reasons.count("one of its tensors is a lazily conjugated or negated view") == 1


@pytest.mark.parametrize(("is_checked", "model"), [(False, model), (True, lambda x, y: y[x.long().flatten()] * 2 + 1)])
def test_a_compiled_graph_calls_passes_themselves_where_nothing_is_checked(
    is_checked: bool, model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Comparison, "loses", False)
    compiled = passnet.compile(model)
    x, y = torch.rand(64, 64), torch.randn(64, 64)
    with torch.no_grad():
        compiled(x, y)
        torch.testing.assert_close(compiled(x, y), model(x, y))
    (built,) = compiled._built
    calls = [node.target for node in built.run.__self__.graph.nodes if node.op == "call_function"]
    assert [call.__module__ == "passnet._backend.regions" for call in calls] == [is_checked]
