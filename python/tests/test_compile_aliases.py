"""Compiled calls: results are the same objects, and share memory, exactly where those of the model do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

import passnet
import passnet.backend

Call = Callable[[torch.Tensor], Any]

# Calls that return their argument, a view of it, or a copy, by what eager mode does.
_SAME: dict[str, Call] = {
    "dropout": lambda x: functional.dropout(x, 0.5, False),
    "dropout without effect": lambda x: functional.dropout(x, 0.0, True),
    "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.5, False),
    "identity": torch.nn.Identity(),
    "dropout module": torch.nn.Dropout(0.3).eval(),
    "contiguous": lambda x: x.contiguous(),
    "to type": lambda x: x.to(torch.float32),
    "to device": lambda x: x.to("cpu"),
    "to other": lambda x: x.to(x),
    "float": lambda x: x.float(),
    "type": lambda x: x.type(torch.float32),
    "type_as": lambda x: x.type_as(x),
    "two casts": lambda x: x.float().to(torch.float32),
    "flatten nothing": lambda x: x.flatten(0, 0),
    "real": lambda x: x.real,
    "positive": lambda x: +x,
}
_VIEWS: dict[str, Call] = {
    "expand": lambda x: x.expand(x.shape),
    "view": lambda x: x.view(x.shape),
    "reshape": lambda x: x.reshape(x.shape),
    "slice": lambda x: x[:],
    "detach": lambda x: x.detach(),
    "broadcast_to": lambda x: x.broadcast_to(x.shape),
    "permute": lambda x: x.permute(0, 1),
    "transpose": lambda x: x.t(),
    "chunk": lambda x: x.chunk(1)[0],
    "meshgrid": lambda x: torch.meshgrid(x[0], indexing="ij")[0],
    "dropout of a view": lambda x: functional.dropout1d(x[None], 0.5, False)[0],
}
_COPIES: dict[str, Call] = {
    "clone": lambda x: x.clone(),
    "to with copy": lambda x: x.to(torch.float32, copy=True),
    "to with positional copy": lambda x: x.to(torch.float32, False, True),
    "to device with copy": lambda x: x.to("cpu", torch.float32, False, True),
    "repeat": lambda x: x.repeat(1, 1),
    "flip nothing": lambda x: x.flip([]),
    "sum of nothing": lambda x: x + 0,
    "cat": lambda x: torch.cat([x]),
}
_CALLS = {**_SAME, **_VIEWS, **_COPIES}
# Each call under test is `f`.
_USES: dict[str, Callable[[Call], Call]] = {
    "alone": lambda f: lambda x: f(x),
    "twice": lambda f: lambda x: (f(x), x * 2, f(x)),
    "with the input": lambda f: lambda x: (x * 2, f(x), x),
    "within": lambda f: lambda x: _within(f, x * 2 + 1),
}


def _within(f: Call, h: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return f(f(h)), h, f(h), h.sin()


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PASSNET_CACHE", str(tmp_path_factory.mktemp("cache")))
        passnet.backend.register()
        yield


def _described(function: Callable[..., Any]) -> list[Any]:
    """Returns which of the argument and the results are one object, and which share memory, with strides and values."""
    x = torch.arange(12.0).reshape(3, 4)
    result = function(x)
    values = [x, *(result if isinstance(result, tuple) else (result,))]
    memory = [value.untyped_storage()._cdata for value in values]
    return [
        [[id(value) for value in values].index(id(value)) for value in values],
        [memory.index(known) for known in memory],
        [(value.dtype, value.stride(), value.storage_offset()) for value in values],
        [value.tolist() if value is x else [round(item, 4) for item in value.flatten().tolist()] for value in values],
    ]


def _all(use: str, names: list[str]) -> Call:
    """Returns one function with all these calls, because each capture takes time."""
    made = [_USES[use](_CALLS[name]) for name in names]

    def calls(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = [call(x) for call in made]
        return tuple(item for result in results for item in (result if isinstance(result, tuple) else (result,)))

    return calls


@pytest.mark.parametrize("by_backend", [False, True])
@pytest.mark.parametrize("use", [*_USES])
@pytest.mark.parametrize("names", [_SAME, _VIEWS, _COPIES], ids=["same", "views", "copies"])
@torch.no_grad()
def test_results_share_as_in_eager_mode(names: dict[str, Call], use: str, by_backend: bool):
    function = _all(use, [*names])
    compiled = torch.compile(function, backend="passnet") if by_backend else passnet.compile(function, verify=False)
    for _ in range(3):
        assert _described(compiled) == _described(function)
    torch._dynamo.reset()


@pytest.mark.parametrize("name", [*_CALLS])
@torch.no_grad()
def test_a_lone_result_shares_as_in_eager_mode(name: str):
    """Alone, because other results of one graph change what the author may do."""
    function = _CALLS[name]
    compiled = passnet.compile(lambda x: function(x), verify=False)
    for _ in range(2):
        assert _described(compiled) == _described(function), name


def test_a_pass_that_matches_an_item_of_a_tuple():
    """The pattern `x[0]` also matches an item of a tuple, and tensors in a tuple cannot be compared."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.meshgrid(x[0], indexing="ij")[0]

    compiled = torch.compile(function, backend="passnet")
    with torch.no_grad():
        for _ in range(3):
            assert _described(compiled) == _described(function)
    torch._dynamo.reset()


_HELD_TWICE: dict[str, Call] = {
    "list": lambda x: (lambda parts: {"a": parts, "b": parts})([torch.relu(x) * 2]),
    "dictionary": lambda x: (lambda parts: {"a": parts, "b": (parts,)[0]})({"key": torch.relu(x) * 2}),
    "empty list": lambda x: (lambda parts: {"a": parts, "b": parts, "c": torch.relu(x) * 2})([]),
}


@pytest.mark.parametrize("name", [*_HELD_TWICE])
@torch.no_grad()
def test_a_result_that_holds_one_container_twice(name: str):
    compiled = passnet.compile(_HELD_TWICE[name], verify=False)
    for _ in range(3):
        x = torch.randn(3, 4)
        result = compiled(x)
        assert result["a"] is result["b"]
        torch.testing.assert_close(result, _HELD_TWICE[name](x))
    torch._dynamo.reset()
