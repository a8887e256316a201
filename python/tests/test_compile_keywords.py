"""Keyword arguments that `passnet.compile` does not have."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

import passnet

OPTIONS = "the options are passes, author, cuda_graphs, verify, freeze, training, then, cache_dir, limit"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cuda_graph": True}, f"compile() has no option `cuda_graph`; did you mean `cuda_graphs`? {OPTIONS}"),
        ({"freeze": True, "backend": "inductor"}, f"compile() has no option `backend`; {OPTIONS}"),
    ],
)
def test_an_unknown_option_is_reported_with_those_that_exist(options: dict[str, Any], message: str):
    with pytest.raises(TypeError) as caught:
        passnet.compile(torch.nn.Linear(2, 2), **options)
    assert str(caught.value) == message


def test_the_signature_is_that_of_the_function():
    assert list(inspect.signature(passnet.compile).parameters)[:3] == ["model", "passes", "author"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'model'"):
        passnet.compile()
