"""`passnet.compile` on models of libraries: what their code does besides computing must not keep it from being one graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import passnet

# One layer shows as much as many.
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}


def transformer(name: str, **sizes: Any) -> torch.nn.Module:
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    model = getattr(transformers, name)
    return model(model.config_class(**sizes)).eval()


def tokens(length: int, **others: Any) -> dict[str, Any]:
    return {"input_ids": torch.randint(0, 90, (2, length)), **others}


def images(*sizes: int) -> dict[str, Any]:
    return {"pixel_values": torch.randn(sizes)}


# The case of each: a flag that is set while a call runs; a result with a cache, a plain object; two such objects; transforms
# of torch.func in the graph; a lock at the first call, and strides that Dynamo does not foresee.
TRANSFORMERS: dict[str, tuple[Callable[[], torch.nn.Module], list[dict[str, Any]]]] = {
    "bert": (lambda: transformer("BertModel", vocab_size=100, **SMALL), [tokens(9), tokens(14)]),
    "llama": (lambda: transformer("LlamaForCausalLM", vocab_size=100, **SMALL), [tokens(9)]),
    "t5": (
        lambda: transformer("T5Model", vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4),
        [tokens(9, decoder_input_ids=torch.randint(0, 90, (2, 4)))],
    ),
    "mamba": (
        lambda: transformer("MambaModel", vocab_size=100, hidden_size=32, num_hidden_layers=1, state_size=8),
        [tokens(5)],
    ),
    "segformer": (
        lambda: transformer(
            "SegformerForSemanticSegmentation",
            hidden_sizes=[8, 16, 24, 32],
            depths=[1, 1, 1, 1],
            num_attention_heads=[1, 2, 2, 4],
            decoder_hidden_size=32,
        ),
        [images(1, 3, 64, 64)],
    ),
}


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors(item)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from tensors(vars(value))


def assert_equal_results(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    for ours, theirs in zip(tensors(found), tensors(expected), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


# Half a minute each.
LONG = ("segformer", "t5")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in TRANSFORMERS]
)
@torch.no_grad()
def test_models_of_transformers_are_one_graph(name: str):
    torch._dynamo.reset()
    torch.manual_seed(0)
    build, inputs = TRANSFORMERS[name]
    model = build()
    compiled = passnet.compile(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*pass `")
        for given in inputs:
            # The first call may prepare the model; later ones run compiled.
            for _ in range(3):
                assert_equal_results(compiled(**given), model(**given))
    report = compiled.report()
    assert len(report.specialisations) == len(inputs)
    assert all("tried again" in reason for reason in report.eager)
    # Nothing is refused. Regions that are slow on a busy machine are no fault of the capture.
    slow = ("slower than PyTorch", "the whole graph is slower with the passes")
    regions = [region for known in report.specialisations for region in known.regions]
    assert all(region.kept or region.reason in slow for region in regions), regions


@torch.no_grad()
def test_each_call_has_a_cache_of_its_own():
    torch._dynamo.reset()
    model = transformer("LlamaForCausalLM", vocab_size=100, **SMALL)
    compiled = passnet.compile(model)
    given = tokens(9)
    compiled(**given)
    first, second = compiled(**given), compiled(**given)
    assert compiled.report().specialisations
    assert type(first.past_key_values) is type(model(**given).past_key_values)
    assert first.past_key_values is not second.past_key_values
    # Decoding writes to the cache of its call alone.
    before = [tensor.clone() for tensor in tensors(second.past_key_values)]
    step = {"input_ids": torch.tensor([[1], [2]])}
    expected = model(**step, past_key_values=model(**given).past_key_values)
    assert_equal_results(compiled(**step, past_key_values=first.past_key_values).logits, expected.logits)
    assert all(map(torch.equal, tensors(second.past_key_values), before))


@torch.no_grad()
def test_generation_is_that_of_the_model():
    torch._dynamo.reset()
    model = transformer(
        "GPT2LMHeadModel", vocab_size=100, n_embd=32, n_layer=1, n_head=4, bos_token_id=1, eos_token_id=2
    )
    given = torch.randint(3, 90, (1, 6))
    options = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(given, **options)
    assert torch.equal(passnet.compile(model).generate(given, **options), expected)


@torch.no_grad()
def test_a_cache_that_the_first_call_fills():
    class Biased(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.cache = torch.nn.Parameter(torch.randn(8)), {}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if (key := str(x.device)) not in self.cache:
                self.cache[key] = self.table.flip(0) * 2
            return torch.relu(x + self.cache[key]) * 3

    torch._dynamo.reset()
    model, x = Biased(), torch.randn(4, 8)
    compiled = passnet.compile(model)
    for _ in range(3):
        assert_equal_results(compiled(x), model(x))
    assert len(compiled.report().specialisations) == 1 and len(compiled.report().eager) == 1
    model.cache["cpu"] = torch.ones(8)
    assert_equal_results(compiled(x), model(x))


@torch.no_grad()
def test_a_flag_that_is_set_while_a_call_runs():
    class Flag:
        is_set = None

    class Flagged(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            before, flag.is_set = flag.is_set, True
            y = torch.relu(x) * 2 if flag.is_set else x
            flag.is_set = before
            return y + 1

    flag = Flag()
    flag.is_set = None
    torch._dynamo.reset()
    model, x = Flagged(), torch.randn(4, 8)
    compiled = passnet.compile(model)
    for value in (None, None, False, True):
        flag.is_set = value
        assert_equal_results(compiled(x), model(x))
        assert flag.is_set is value
    assert compiled.report().specialisations and not compiled.report().eager


@torch.no_grad()
def test_an_object_that_was_there_before_is_returned_itself():
    class Box:
        def __init__(self, value: torch.Tensor) -> None:
            self.value = value

    class Boxed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.box = Box(torch.ones(3))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, Box, Box]:
            return torch.relu(x) * 2, Box(x + 1), self.box

    torch._dynamo.reset()
    model, x = Boxed(), torch.randn(3)
    compiled = passnet.compile(model)
    for _ in range(3):
        found = compiled(x)
        assert found[2] is model.box and found[1] is not compiled(x)[1]
        assert_equal_results(found, model(x))


@torch.no_grad()
def test_functions_that_dynamo_fails_at_run_as_they_are_written(caplog: pytest.LogCaptureFixture):
    class Fails(torch.nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            torch._dynamo.graph_break()
            return self.rest(torch.relu(x))

        def rest(self, y: torch.Tensor) -> torch.Tensor:
            # Dynamo runs this with tensors without data, and raises an exception.
            return torch.ops.passnet_tests.shows_its_data(y) + 1

    library = torch.library.Library("passnet_tests", "DEF")
    library.define("shows_its_data(Tensor x) -> Tensor")
    library.impl("shows_its_data", lambda x: x * float(x.numpy().sum()), "CPU")
    library.impl("shows_its_data", lambda x: torch.empty(x.numpy().shape), "Meta")
    torch._dynamo.reset()
    model, before = Fails(), torch._dynamo.config.suppress_errors
    compiled = passnet.compile(model)
    for number in range(1, 5):
        x = torch.randn(4)
        expected = model.rest(torch.relu(x))
        torch.testing.assert_close(compiled(x), expected)
        assert model.calls == number
    assert torch._dynamo.config.suppress_errors == before
    library._destroy()


@torch.no_grad()
def test_a_model_of_two_graphs_rounds_as_it_is_written():
    class Averages(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("average", torch.linspace(1, 2, 64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch._dynamo.graph_break()
            # Written as a product and a sum, the product would be rounded to `bfloat16`.
            self.average.add_(x, alpha=0.1)
            return self.average * 2

    torch._dynamo.reset()
    torch.manual_seed(0)
    model, reference, x = Averages(), Averages(), torch.randn(64, dtype=torch.bfloat16)
    compiled = passnet.compile(model)
    for _ in range(3):
        assert torch.equal(compiled(x), reference(x))
