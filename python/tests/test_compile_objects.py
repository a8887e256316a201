"""`passnet.compile`: plain objects among the arguments, such as the cache of keys and values of a language model, and methods that call the model."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import passnet
from compiling import kinds
from passnet._compile.compiled import Compiled


class Layer:
    """A cache of a fixed size, which each call writes one row of."""

    scale = 2.0

    def __init__(self, rows: int = 8) -> None:
        self.rows = rows
        self.values: torch.Tensor | None = None
        self.position = torch.tensor(0)

    def update(self, x: torch.Tensor) -> torch.Tensor:
        if self.values is None:
            self.values = torch.zeros(self.rows, x.shape[-1])
        self.values.index_copy_(0, self.position.reshape(1), x[:1])
        self.position.add_(1)
        return self.values * self.scale


class Cache:
    def __init__(self, layers: int = 2, rows: int = 8) -> None:
        self.layers = [Layer(rows) for _ in range(layers)]
        self.name = "cache"


class Decoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(2))

    def forward(self, x: torch.Tensor, cache: Cache | None = None) -> tuple[torch.Tensor, Cache | None]:
        for number, block in enumerate(self.blocks):
            x = torch.nn.functional.gelu(block(x)) * 0.5 + x
            if cache is not None:
                x = x + cache.layers[number].update(x).mean(0)
        return x, cache

    def generate(self, x: torch.Tensor, steps: int) -> torch.Tensor:
        cache = Cache(rows=steps)
        self.steps = getattr(self, "steps", 0) + steps
        for _ in range(steps):
            x, _ = type(self).step(self, x, cache)
        return x

    def step(self, x: torch.Tensor, cache: Cache) -> tuple[torch.Tensor, Cache | None]:
        return self(x, cache=cache)

    def twin(self) -> Decoder:
        return copy.deepcopy(self)


def decoder() -> tuple[Decoder, Compiled]:
    torch.manual_seed(0)
    model = Decoder().eval()
    return model, passnet.compile(model)


def state(value: Any) -> Any:
    """The tensors and constants of an object, for comparison."""
    if isinstance(value, str):
        return [ord(character) for character in value]
    if isinstance(value, (list, tuple)):
        return [state(item) for item in value]
    if isinstance(value, dict):
        return {name: state(item) for name, item in value.items()}
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):
        return {name: state(item) for name, item in vars(value).items()}
    return value


def same(compiled: Compiled, make: Callable[[], Any], calls: int = 4, **kwargs: Any) -> None:
    """Calls with a separate object give the results, and leave the objects, that the model gives and leaves."""
    theirs, ours = make(), make()
    for number in range(calls):
        torch.manual_seed(number)
        x = torch.randn(2, 16)
        expected, found = compiled.model(x, theirs, **kwargs), compiled(x, ours, **kwargs)
        torch.testing.assert_close(state(found), state(expected), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(state(ours), state(theirs), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_cache_of_a_fixed_size_is_compiled():
    _, compiled = decoder()
    same(compiled, Cache, calls=8)
    assert kinds(compiled) == 2, "one without, one with values in the cache"
    assert not compiled.report().as_dict()["eager"]
    cache = Cache()
    assert compiled(torch.randn(2, 16), cache)[1] is cache
    same(compiled, lambda: Cache(rows=4), calls=4)
    assert kinds(compiled) == 4, "other sizes"


@torch.no_grad()
def test_attributes_of_the_class_of_an_argument_are_seen(monkeypatch: pytest.MonkeyPatch):
    _, compiled = decoder()
    same(compiled, Cache)
    monkeypatch.setattr(Layer, "scale", 5.0)
    same(compiled, Cache)

    def hidden() -> Cache:
        cache = Cache()
        cache.layers[1].scale = 7.0
        return cache

    same(compiled, hidden)


class Keeps(torch.nn.Module):
    """Does something to an object in addition to its result."""

    def __init__(self, effect: Callable[[Keeps, Any, torch.Tensor], Any]) -> None:
        super().__init__()
        self.linear, self.effect = torch.nn.Linear(16, 16), effect

    def forward(self, x: torch.Tensor, given: Any, other: Any = None) -> Any:
        y = torch.tanh(self.linear(x)) * 2 + 1
        result = self.effect(self, given, y)
        return (y, result) if other is None else (y, result, other)


class Box:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


@dataclasses.dataclass
class Record:
    value: torch.Tensor
    count: int = 0


def assigns(_: Any, given: Any, y: torch.Tensor) -> None:
    given.value = y * given.factor


def swaps(_: Any, given: Any, y: torch.Tensor) -> torch.Tensor:
    given.value, given.other = given.other, given.value
    return given.value + y


def makes(_: Any, given: Any, y: torch.Tensor) -> None:
    given.made, given.text = [y, (y + 1, {"a": y * 2})], "made"


def nests(_: Any, given: Any, y: torch.Tensor) -> None:
    given.inner = Box(value=y, factor=2)


def counts(_: Any, given: Any, y: torch.Tensor) -> torch.Tensor:
    given.count += 1
    return y * given.count


def removes(_: Any, given: Any, y: torch.Tensor) -> None:
    if hasattr(given, "value"):
        del given.value


def appends(_: Any, given: Any, y: torch.Tensor) -> int:
    given.items.append(y)
    return len(given.items)


def fills(_: Any, given: Any, y: torch.Tensor) -> torch.Tensor:
    given.flags[1] = True
    given.states["last"] = y
    given.states.pop("first", None)
    given.rows[0] = given.rows[1]
    given.rows[1] = y * 2
    return given.states["last"] + given.rows[0]


def keeps(model: Keeps, given: Any, y: torch.Tensor) -> torch.Tensor:
    model.last = given
    return y


def writes_both(_: Any, given: Any, y: torch.Tensor) -> torch.Tensor:
    given.value.mul_(2)
    given.value = given.value + y
    return given.value


def returns(_: Any, given: Any, y: torch.Tensor) -> Any:
    return [given, {"inner": given.inner}, given.value + y]


def records(_: Any, given: Any, y: torch.Tensor) -> Record:
    given.value = given.value + y
    return given


EFFECTS: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "assigns": (assigns, lambda: Box(value=None, factor=3.0)),
    "assigns what is there": (assigns, lambda: Box(value=torch.ones(2, 16), factor=3.0)),
    "swaps": (swaps, lambda: Box(value=torch.ones(2, 16), other=torch.zeros(2, 16))),
    "makes": (makes, Box),
    "nests": (nests, Box),
    "counts": (counts, lambda: Box(count=0)),
    "removes": (removes, lambda: Box(value=1)),
    "appends": (appends, lambda: Box(items=[])),
    "fills": (
        fills,
        lambda: Box(flags={0: True, 1: False}, states={"first": 1}, rows=[torch.ones(2, 16), torch.ones(2, 16)]),
    ),
    "keeps": (keeps, lambda: Box(value=1)),
    "writes and assigns": (writes_both, lambda: Box(value=torch.ones(2, 16))),
    "returns": (returns, lambda: Box(value=torch.ones(2, 16), inner=Box(a=1))),
    "a dataclass": (records, lambda: Record(torch.ones(2, 16))),
}


@pytest.mark.parametrize("name", EFFECTS)
@torch.no_grad()
def test_effects_on_an_argument_are_those_of_the_model(name: str):
    effect, make = EFFECTS[name]
    torch.manual_seed(0)
    compiled = passnet.compile(Keeps(effect).eval())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        same(compiled, make, calls=3)
        same(compiled, make, calls=2)


@torch.no_grad()
def test_lists_and_dictionaries_of_an_argument_are_filled():
    torch.manual_seed(0)
    compiled = passnet.compile(Keeps(fills).eval())
    box = EFFECTS["fills"][1]()
    parts = box.flags, box.states, box.rows
    for _ in range(4):
        compiled(torch.randn(2, 16), box)
    assert all(before is after for before, after in zip(parts, (box.flags, box.states, box.rows), strict=True))
    assert kinds(compiled) == 2 and not compiled.report().as_dict()["eager"]


@torch.no_grad()
def test_an_object_that_is_given_twice_is_one_object():
    torch.manual_seed(0)
    compiled = passnet.compile(Keeps(assigns).eval())
    box, other, x = Box(value=None, factor=2.0), Box(value=None, factor=2.0), torch.randn(2, 16)
    for given in (box, other, box):
        box.value = other.value = None
        assert compiled(x, box, given)[2] is given
        assert (other.value is None) or given is other
    assert kinds(compiled) == 2


@torch.no_grad()
def test_a_cache_that_grows_is_left_to_the_model():
    def grows(_: Any, given: Any, y: torch.Tensor) -> torch.Tensor:
        given.value = torch.cat([given.value, y])
        return given.value.sum(0)

    torch.manual_seed(0)
    compiled = passnet.compile(Keeps(grows).eval())
    with pytest.warns(RuntimeWarning, match="`value` of a `Box` has another size after each call") as caught:
        same(compiled, lambda: Box(value=torch.ones(1, 16)), calls=6)
    assert len(caught) == 1 and kinds(compiled) == 0


def test_gradients_reach_an_object_that_is_an_argument():
    torch.manual_seed(0)
    compiled = passnet.compile(Keeps(assigns).eval())
    x = torch.randn(2, 16)
    grads = []
    for model in (compiled.model, compiled, compiled):
        box = Box(value=None, factor=3.0)
        model.zero_grad()
        model(x, box)[0].sum().backward(retain_graph=True)
        box.value.sum().backward()
        grads.append(compiled.linear.weight.grad.clone())
    torch.testing.assert_close(grads[1], grads[0])
    torch.testing.assert_close(grads[2], grads[0])


@torch.no_grad()
def test_methods_that_call_the_model_run_compiled():
    model, compiled = decoder()
    x = torch.randn(2, 16)
    expected = model.generate(x, 6)
    for _ in range(2):
        torch.testing.assert_close(compiled.generate(x, 6), expected, rtol=1e-4, atol=1e-5)
    assert kinds(compiled) == 2 and model.steps == compiled.steps == 18
    assert not compiled.report().as_dict()["eager"]
    twin = compiled.twin()
    assert type(twin) is Decoder and twin is not model
    twin.blocks[0].weight.zero_()
    torch.testing.assert_close(compiled.generate(x, 6), expected, rtol=1e-4, atol=1e-5)
    assert compiled.forward.__self__ is model


@torch.no_grad()
def test_parameters_that_a_method_registers_are_noticed():
    class Changes(Decoder):
        def change(self) -> None:
            self.blocks = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(2))

    torch.manual_seed(0)
    compiled = passnet.compile(Changes().eval())
    same(compiled, Cache)
    compiled.change()
    same(compiled, Cache)


def test_a_class_that_refuses_to_be_subclassed_calls_the_model():
    class Final(Decoder):
        def __init_subclass__(cls) -> None:
            raise TypeError("final")

    model = Final().eval()
    with torch.no_grad():
        torch.testing.assert_close(
            passnet.compile(model).generate(torch.ones(2, 16), 2), model.generate(torch.ones(2, 16), 2)
        )


def test_parts_by_number_are_the_model_s():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    compiled = passnet.compile(model)
    assert compiled[0] is model[0] and len(compiled) == 2 and [*compiled] == [*model]
    assert passnet.compile(torch.nn.Linear(2, 2))


@torch.no_grad()
@pytest.mark.parametrize("kind", ["static", None])
def test_generation_of_transformers(kind: str | None):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=100
    )
    model = transformers.LlamaForCausalLM(config).eval()
    options: dict[str, Any] = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    ids = torch.randint(0, 100, (2, 5))
    expected = model.generate(ids, cache_implementation=kind, **options)
    compiled = passnet.compile(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(2):
            assert torch.equal(compiled.generate(ids, cache_implementation=kind, **options), expected)
    assert kinds(compiled) == (2 if kind == "static" else 1)
    assert bool(compiled.report().as_dict()["eager"]) == (kind is None)
