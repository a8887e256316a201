"""`passnet optimize`: operations outside regions, and the compile time and the memory of each side."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx

from passnet import optimize
from passnet._backend.regions import Region
from passnet._compile import optimized, page, rest
from passnet._compile.compiled import Compiled
from passnet._compile.options import Options
from passnet._compile.report import Specialisation


class Model(torch.nn.Module):
    """Layers of one kind, a write, a slice and random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        sums = x.new_zeros(8)
        sums.add_(x[0])
        return x.cumsum(0) + sums + torch.rand(8)


def names(found: rest.Rest) -> dict[str, int]:
    return {operation.name: operation.count for operation in found.operations}


@torch.no_grad()
def test_operations_outside_regions_are_timed_without_an_effect(monkeypatch: pytest.MonkeyPatch):
    timed = []

    def time_of(function: Any, device: torch.device, *, graphed: bool) -> float:
        timed.append(function)
        # Repetitions change nothing that the graph computes later.
        function(), function()
        return 10.0

    monkeypatch.setattr(rest, "time_of", time_of)
    model, x = Model(), torch.randn(4, 8)
    compiled = Compiled(model, Options(author=None, times_rest=True))
    torch.manual_seed(0)
    first, random = compiled(x), torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(first, model(x)) and torch.equal(random, torch.rand(1))
    [known] = compiled.report().specialisations
    assert known.rest is not None
    found = names(known.rest)
    assert found["torch.nn.functional.linear"] == 3 and found["Tensor.add_"] == found["torch.rand"] == 1
    # The three layers are one kind of call, and so are the two sums.
    assert found["operator.add"] == 2 and len(timed) == sum(found.values()) - 3
    [operation] = [part for part in known.rest.as_dicts() if part["name"] == "torch.nn.functional.linear"]
    assert operation["ns"] == 30.0 and operation["share"] == pytest.approx(3 / sum(found.values()))
    # Only `passnet optimize` needs these times.
    plain = Compiled(model, Options(author=None))
    plain(x)
    assert plain.report().as_dict()["specialisations"][0]["rest"] is None


@torch.no_grad()
def test_writes_are_repeated_on_copies():
    written = []

    def write(x: torch.Tensor) -> torch.Tensor:
        written.append(x.data_ptr())
        return x.add_(1.0)

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(write, (x,)),))
    given = torch.zeros(4)
    found = rest.rest_of(torch.fx.GraphModule({}, graph), [], 0.0, [given], graphed=False)
    assert given.tolist() == [1.0] * 4 and len(set(written)) == 2
    [operation] = found.operations
    assert operation.count == 1 and operation.ns > 0


@torch.no_grad()
def test_regions_are_part_of_the_whole():
    def region(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    call = graph.call_function(region, (x,))
    graph.output((graph.call_function(torch.cos, (call,)),))
    found = rest.rest_of(torch.fx.GraphModule({}, graph), {call}, 300.0, [torch.zeros(4)], graphed=False)
    assert names(found) == {"torch.cos": 1}
    found.operations[0].ns = 100.0
    assert found.as_dicts() == [{"name": "torch.cos", "count": 1, "ns": 100.0, "share": 0.25}]
    assert rest.Rest().as_dicts() == []


def result() -> dict[str, Any]:
    """A result with one kind of call, on a GPU."""
    known = Specialisation(["float32[2] cuda:0"], 9, 1.0, regions=[Region("author:fuse_0", 2)])
    known.by_model = "it is small"
    operations = [rest.Operation("torch.nn.functional.linear", 3, 95_000.0)]
    operations += [rest.Operation(name, 2, 150.0) for name in ("Tensor.view", "operator.getitem")]
    known.rest = rest.Rest(operations, regions_ns=4700.0)
    sides = {"eager": 200_000.0, "passnet": 100_000.0}
    return {
        "model": "model.py:build",
        "device": "a GPU",
        "threads": 1,
        "median_ns": sides,
        "compile_s": {"eager": 0.1, "passnet": 2.25},
        "peak_bytes": {"eager": 3 << 20, "passnet": 5 << 20},
        "failures": {"torch.compile max-autotune": "no compiler"},
        "compiled": {"specialisations": [known.as_dict()], "eager": {}},
    }


def test_the_page_has_what_is_left_compile_times_and_memory():
    text = page.report(result())
    for row in (
        ("eager", "200.0", "1.00", "", "3.0"),
        ("passnet", "100.0", "2.00", "2.2", "5.0"),
        ("torch.compile max-autotune", "failed", "", "", ""),
        ("torch.nn.functional.linear", "3", "95.0", "95.0"),
        ("2 other operations", "4", "0.3", "0.3"),
    ):
        label, *cells = row
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        assert f'<tr><th scope="row">{label}</th>{numbers}<td>' in text, (row, text)
    assert "The model itself runs such calls: it is small." in text
    # On the CPU, memory is not measured.
    on_cpu = result() | {"peak_bytes": {}}
    assert "Memory" in text and "Memory" not in page.report(on_cpu)


def test_first_calls_are_timed_and_their_memory_is_measured(monkeypatch: pytest.MonkeyPatch):
    calls: list[int] = []
    assert optimized._start(lambda: calls.append(1), torch.device("cpu")).peak_bytes is None and len(calls) == 2
    # A side that keeps 700 bytes between calls, and needs 50 more in a call.
    calls.clear()
    for name, function in {
        "memory_reserved": lambda _: 1000 + 700 * bool(calls),
        "memory_allocated": lambda _: 1500,
        "max_memory_allocated": lambda _: 1550,
        "reset_peak_memory_stats": lambda _: None,
        "synchronize": lambda _: None,
        "empty_cache": lambda: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, function)
    start = optimized._start(lambda: calls.append(1), torch.device("cuda"))
    assert start.peak_bytes == 750 and start.seconds > 0 and len(calls) == 3


def test_the_modes_of_torch_compile_are_those_of_the_command():
    assert (
        {"default", "reduce-overhead", "max-autotune"}
        <= set(optimize.MODES)
        <= set(torch._inductor.list_mode_options())
    )
    flags = Path(__file__).parents[2] / "crates/passnet-flags/src/optimize.rs"
    if flags.exists():
        line = next(line for line in flags.read_text(encoding="utf-8").splitlines() if line.startswith("const MODES"))
        assert tuple(re.findall(r'"([^"]+)"', line)) == optimize.MODES
