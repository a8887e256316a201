"""Reports of the backend: mistakes of its user at once, and its matches on request."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed

from passnet import backend

RELU = """
import torch

def pattern(x):
    return torch.relu(x)

def replacement_args(x):
    return (x,)

def relu(x):
    if x.dtype != torch.float32:
        raise ValueError("only float32")
    return x.clamp(min=0)

def replacement_func():
    return relu
"""
SIGMOID = (
    RELU.replace("torch.relu(x)", "torch.sigmoid(torch.exp(x))")
    .replace("def relu", "def sigmoid")
    .replace("return relu", "return sigmoid")
)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    backend._backends.clear()
    yield
    torch._dynamo.reset()


@pytest.fixture
def passes(write_passes: Callable[..., Path]) -> Path:
    return write_passes(relu=RELU, sigmoid=SIGMOID)


def compiled(model: Any, **options: Any) -> Any:
    return torch.compile(model, backend=backend.passnet, options=options)


def shifted(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + torch.relu(x - 1)


def exponential(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x) + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pases": "here"}, "no option `pases`; did you mean `passes`?"),
        ({"verifies": True}, "no option `verifies`; did you mean `verify`?"),
        ({"speed": 1}, "no option `speed`; there are `passes` and `author` and `verify` and `cache_dir`"),
        ({"passes": "/nowhere/at/all"}, "there is no pass directory `/nowhere/at/all`"),
    ],
)
def test_mistakes_in_options_are_errors(options: dict[str, Any], message: str):
    with pytest.raises(BackendCompilerFailed, match=re.escape(message)):
        compiled(shifted, **options)(torch.randn(3))


def test_a_directory_without_a_list_of_passes_is_named(tmp_path: Path):
    message = f"pass directory `{tmp_path}`: cannot read `sorted_output_pass_rule_names.json`"
    with pytest.raises(BackendCompilerFailed, match=re.escape(message)):
        compiled(shifted, passes=tmp_path)(torch.randn(3))


def test_that_no_pass_matches_is_said_once(passes: Path):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for size in (3, 4):
            torch._dynamo.reset()
            compiled(exponential, passes=passes)(torch.randn(size))
    messages = [str(warning.message) for warning in seen if warning.category is RuntimeWarning]
    [message] = messages
    assert message.startswith("no pass matches in exponential (") and "`relu`: " in message


def test_that_there_are_no_passes_is_said():
    with pytest.warns(RuntimeWarning, match="neither passes nor an author; give `options="):
        compiled(shifted, author=None)(torch.randn(3))


def test_a_report_has_matches_and_refusals(passes: Path):
    fast = compiled(shifted, passes=passes)
    fast(torch.randn(3))
    with pytest.warns(RuntimeWarning, match="`relu`.*only float32"):
        fast(torch.randn(3).double())
    fast(torch.randn(3).double())
    first, second = backend.report(fast).graphs
    assert (first.operations, first.matches) == (4, {"relu": 2, "sigmoid": 0})
    assert first.refusals["relu"].counts == {}
    [(refusal, calls)] = second.refusals["relu"].counts.items()
    assert (refusal.kind, calls) == ("refused", 4)
    text = repr(backend.report(fast))
    assert "shifted (" in text and "relu: 2 places" in text and "sigmoid: no match; " in text
    assert "4 calls left to PyTorch: its replacement refuses the arguments: only float32" in text
    plain = json.loads(json.dumps(backend.report(fast).as_dict()))
    assert plain["schema_version"] == 1
    assert [rule["matches"] for rule in plain["graphs"][0]["passes"]] == [2, 0]
    assert plain["graphs"][1]["passes"][0]["left_to_pytorch"] == [
        {"kind": "refused", "reason": "its replacement refuses the arguments: only float32", "calls": 4}
    ]


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def test_a_report_is_of_one_model(passes: Path):
    one, other = Layer(), Layer()
    with torch.no_grad():
        fast = compiled(one, passes=passes)
        fast(torch.randn(2, 3))
        compiled(shifted, passes=passes)(torch.randn(3))
    for model, count in ((one, 1), (fast, 1), (other, 0), (shifted, 1), (exponential, 0), (None, 2)):
        assert len(backend.report(model).graphs) == count, model
    assert repr(backend.report(other)).startswith("no graph was captured")
