"""`passnet.compile(cuda_graphs=...)`: calls that write to their arguments or to buffers."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch

import passnet
from passnet._compile.compiled import Compiled
from passnet._compile.graphs import Extents, unused_draws

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_the_memory_of_several_tensors_is_compared_by_address():
    x = torch.zeros(8, 8)
    kept = torch.zeros(4)
    extents = Extents([x[1], x[1:3], x[5, 2:4], kept])
    assert [extents.overlaps(x[row]) for row in range(8)] == [False, True, True, False, False, True, False, False]
    assert [extents.overlaps(x[5, start : start + 2]) for start in (0, 1, 2, 3, 4)] == [False, True, True, True, False]
    assert extents.overlaps(x[:, 3]), "a column reaches from the first row to the last"
    other = torch.zeros(4)
    assert not extents.overlaps(other)
    assert not extents.overlaps(x[1, :0])


class Cache:
    def __init__(self, rows: int = 64) -> None:
        self.values = torch.zeros(rows, 16, device="cuda")
        self.position = torch.zeros(1, dtype=torch.int64, device="cuda")


class Decoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        self.calls.add_(1)
        cache.values.index_copy_(0, cache.position, x[:1])
        cache.position += 1
        return torch.nn.functional.gelu(self.linear(x)) * 0.5 + cache.values.sum(0)


class Pair:
    """A model with its own weights and buffers, and a compiled copy."""

    def __init__(self, model: torch.nn.Module | None = None, cuda_graphs: Any = True) -> None:
        torch.manual_seed(0)
        self.model = (model or Decoder().eval()).cuda()
        self.compiled: Compiled = passnet.compile(copy.deepcopy(self.model), cuda_graphs=cuda_graphs)

    def agree(self, x: torch.Tensor, theirs: Any, ours: Any) -> None:
        """Calls both, and compares results, arguments and buffers."""
        expected, found = self.model(x, theirs), self.compiled(x.clone(), ours)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(state(ours), state(theirs), rtol=1e-4, atol=1e-4)
        buffers = zip(self.compiled.model.buffers(), self.model.buffers(), strict=True)
        for one, other in buffers:
            torch.testing.assert_close(one, other)

    def recordings(self) -> int:
        return sum(len(built.graphed.recordings) for built in self.compiled._built if built.graphed is not None)


def state(value: Any) -> Any:
    return value if isinstance(value, torch.Tensor) else vars(value)


def inputs(count: int) -> list[torch.Tensor]:
    return [torch.randn(2, 16, device="cuda") for _ in range(count)]


@needs_gpu
@pytest.mark.parametrize("cuda_graphs", [True, "auto"])
@torch.no_grad()
def test_a_cache_is_written_where_it_is(cuda_graphs: Any):
    pair = Pair(cuda_graphs=cuda_graphs)
    theirs, ours = Cache(), Cache()
    for x in inputs(8):
        pair.agree(x, theirs, ours)
    if cuda_graphs is True:
        # With "auto" the measured times decide.
        assert pair.compiled.report().specialisations[0].cuda_graph == "on", pair.compiled.report()
        assert pair.recordings() == 1
    assert not pair.compiled.report().as_dict()["eager"]


@needs_gpu
@torch.no_grad()
def test_each_cache_has_a_graph_up_to_a_limit():
    pair = Pair()
    caches = [(Cache(), Cache()) for _ in range(6)]
    for _ in range(3):
        for theirs, ours in caches:
            for x in inputs(3):
                pair.agree(x, theirs, ours)
    assert pair.recordings() == 4
    allocated = torch.cuda.memory_allocated()
    del caches, theirs, ours
    assert torch.cuda.memory_allocated() < allocated, "the memory of caches is not kept"


@needs_gpu
@torch.no_grad()
def test_a_cache_that_is_new_in_each_call_needs_no_graph():
    pair = Pair()
    kept = []
    for x in inputs(6):
        theirs, ours = Cache(), Cache()
        kept.append(ours)
        pair.agree(x, theirs, ours)
    assert pair.recordings() == 0


@needs_gpu
@torch.no_grad()
def test_an_input_in_the_memory_of_an_argument_is_read_after_the_write():
    def add(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        total.add_(1)
        return torch.sigmoid(x) * 2 + total.sum(0) * 0.5

    compiled = passnet.compile(add, cuda_graphs=True)
    theirs, ours = torch.zeros(8, 16, device="cuda"), torch.zeros(8, 16, device="cuda")
    for x in inputs(4):
        torch.testing.assert_close(compiled(x, ours), add(x, theirs))
    for _ in range(3):
        torch.testing.assert_close(compiled(ours[3:5], ours), add(theirs[3:5], theirs))
        torch.testing.assert_close(ours, theirs)
    assert compiled.report().specialisations[0].cuda_graph == "on", compiled.report()


@needs_gpu
@torch.no_grad()
def test_writes_to_a_cache_are_counted():
    pair = Pair()
    theirs, ours = Cache(), Cache()
    for x in inputs(4):
        pair.agree(x, theirs, ours)
    before = ours.values._version, pair.compiled.model.calls._version
    pair.agree(*inputs(1), theirs, ours)
    assert (ours.values._version, pair.compiled.model.calls._version) > before
    assert ours.values._version > before[0]


@needs_gpu
@torch.no_grad()
def test_buffers_and_weights_with_other_memory_are_taken():
    pair = Pair()
    theirs, ours = Cache(), Cache()
    for x in inputs(4):
        pair.agree(x, theirs, ours)
    for model in (pair.model, pair.compiled.model):
        model.calls.data = torch.full((1,), 7.0, device="cuda")
        model.linear.weight.data = model.linear.weight.data * 2
    for x in inputs(4):
        pair.agree(x, theirs, ours)


@needs_gpu
@torch.no_grad()
def test_statistics_of_training_are_written():
    layers = [torch.nn.Linear(16, 16), torch.nn.BatchNorm1d(16), torch.nn.GELU()]
    model = torch.nn.Sequential(*layers).cuda().train()
    compiled = passnet.compile(copy.deepcopy(model), cuda_graphs=True)
    for x in inputs(6):
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
        for one, other in zip(compiled.model.buffers(), model.buffers(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@needs_gpu
@torch.no_grad()
def test_an_argument_is_written_in_place():
    def add(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        total += torch.sigmoid(x) * 2
        return total.sum(0) * 0.5

    compiled = passnet.compile(add, cuda_graphs=True)
    theirs, ours = torch.zeros(2, 16, device="cuda"), torch.zeros(2, 16, device="cuda")
    for x in inputs(6):
        torch.testing.assert_close(compiled(x, ours), add(x, theirs))
        torch.testing.assert_close(ours, theirs)
    assert compiled.report().specialisations[0].cuda_graph == "on", compiled.report()


@needs_gpu
@torch.no_grad()
def test_a_result_that_is_the_argument_is_the_argument():
    def add(x: torch.Tensor, total: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.sigmoid(x) * 2
        return total.add_(1), y + total[0]

    compiled = passnet.compile(add, cuda_graphs=True)
    theirs, ours = torch.zeros(2, 16, device="cuda"), torch.zeros(2, 16, device="cuda")
    for x in inputs(5):
        expected, found = add(x, theirs), compiled(x, ours)
        assert found[0] is ours
        torch.testing.assert_close(found, expected)
    assert compiled.report().specialisations[0].cuda_graph == "on", compiled.report()


class LayerDrop(torch.nn.Module):
    """Draws a number on the host that only training uses."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            chance = torch.rand([])
            if not self.training or chance > 0.1:
                x = torch.nn.functional.gelu(layer(x))
        return x


def test_unused_random_numbers_of_the_host_are_found():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    unused, used, elsewhere = (graph.call_function(torch.rand, ([],)) for _ in range(3))
    graph.output(graph.call_function(torch.add, (x, used)))
    for node in graph.nodes:
        node.meta["example_value"] = torch.zeros((), device="meta" if node is elsewhere else "cpu")
    assert unused_draws(graph) == [unused]


@needs_gpu
@torch.no_grad()
def test_unused_random_numbers_of_the_host_are_drawn_in_each_call():
    pair = Pair(LayerDrop().eval(), cuda_graphs=True)
    for x in (torch.randn(4, 8, device="cuda") for _ in range(4)):
        torch.manual_seed(1)
        expected, after = pair.model(x), torch.rand(3)
        torch.manual_seed(1)
        torch.testing.assert_close(pair.compiled(x), expected)
        assert torch.equal(torch.rand(3), after)
    assert pair.compiled.report().specialisations[0].cuda_graph == "on", pair.compiled.report()


@needs_gpu
@torch.no_grad()
def test_generation_with_a_cache_of_fixed_size_is_a_graph():
    library = pytest.importorskip("transformers")
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    torch.manual_seed(0)
    model = library.LlamaForCausalLM(library.LlamaConfig(**sizes, intermediate_size=128, vocab_size=500)).cuda().eval()
    compiled = passnet.compile(copy.deepcopy(model), cuda_graphs=True)
    options = {"max_new_tokens": 12, "min_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    for length in (5, 5, 9):
        ids = torch.randint(1, 500, (1, length), device="cuda")
        expected = model.generate(ids, cache_implementation="static", disable_compile=True, **options)
        found = compiled.generate(ids, cache_implementation="static", **options)
        assert torch.equal(found, expected)
    graphs = [kind.cuda_graph for kind in compiled.report().specialisations]
    assert "on" in graphs, compiled.report()


LOOKUP = """
import torch, passnet

def look_up(table, ids, x):
    return torch.nn.functional.gelu(table[ids * 2 - 2] * 0.5 + x)

table, x = torch.randn(100, 64, device="cuda"), torch.randn(3, 64, device="cuda")
compiled = passnet.compile(look_up, cuda_graphs=CUDA_GRAPHS)
for ids in ([1, 2, 3], [50, 1, -49], LAST):
    ids = torch.tensor(ids, device="cuda")
    found, expected = compiled(table, ids, x), look_up(table, ids, x)
    torch.cuda.synchronize()
    torch.testing.assert_close(found, expected)
report = compiled.report()
assert any(region.kept for region in report.specialisations[0].regions), report
print("done")
"""


@needs_gpu
@pytest.mark.parametrize("cuda_graphs", [False, True])
def test_a_computed_index_out_of_range_is_an_assertion_on_the_device(cuda_graphs: bool):
    """In processes of their own, since it ends the use of the device. The compiled call alone is to fail: it comes first."""
    for last, ends in (("[2, 3, 4]", True), ("[51, 3, 4]", False), ("[2, -50, 4]", False)):
        text = LOOKUP.replace("CUDA_GRAPHS", str(cuda_graphs)).replace("LAST", last)
        text = text.replace("compiled(table, ids, x), look_up(", "_waited(compiled(table, ids, x)), look_up(")
        text = "def _waited(value):\n    torch.cuda.synchronize()\n    return value\n" + text
        run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert run.stdout.endswith("done\n") == ends, run.stderr
        assert ends or "index out of range" in run.stderr, run.stderr


@needs_gpu
@torch.no_grad()
def test_calls_from_several_streams_do_not_mix():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
    compiled = passnet.compile(copy.deepcopy(model), cuda_graphs=True)
    compiled(torch.randn(8, 64, device="cuda"))
    streams = [torch.cuda.Stream() for _ in range(3)]
    given, found = [], []
    for number in range(60):
        with torch.cuda.stream(streams[number % 3]):
            given.append(torch.randn(8, 64, device="cuda"))
            found.append(compiled(given[-1]))
    torch.cuda.synchronize()
    for x, y in zip(given, found, strict=True):
        torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-5)


@needs_gpu
@torch.no_grad()
def test_a_view_of_an_input_is_read_in_each_call():
    def halves(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x[:, ::2]) * x[:, 1::2]

    compiled = passnet.compile(halves, cuda_graphs=True)
    whole = torch.randn(6, 4, 32, device="cuda")
    for row in whole.unbind() + whole.transpose(1, 2)[:, :4, :4].unbind():
        torch.testing.assert_close(compiled(row), halves(row))


@needs_gpu
@torch.no_grad()
def test_reset_and_a_new_size_record_again():
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU()).cuda()
    compiled = passnet.compile(copy.deepcopy(model), cuda_graphs=True)
    kept = []
    for size in (4, 8, 4, 16, 4):
        x = torch.randn(size, 32, device="cuda")
        kept.append((compiled(x), model(x)))
        compiled.reset()
        kept.append((compiled(x), model(x)))
    for found, expected in kept:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
