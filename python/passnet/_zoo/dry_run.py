"""Checks of a model that need no values: whether it accepts inputs, and how many features it makes of an image.

They run on fake tensors in a fork, so they take a fraction of a second and do not change the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from passnet._zoo.isolated import IsolatedError, isolated

# Errors that mean that shapes are not enough to decide. They do not mean that the inputs are wrong.
_UNDECIDED = {
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedOperatorException",
    "GuardOnDataDependentSymNode",
    "UnsupportedFakeTensorException",
}


def objection(model: Any, kwargs: Mapping[str, Any]) -> str | None:
    """Returns the reason why the model refuses the inputs; None if it accepts them, or if only a real run can decide."""
    try:
        isolated(lambda: _run(model, kwargs))
    except IsolatedError as error:
        undecided = (
            not error.kinds or _UNDECIDED & set(error.kinds) or "FakeTensor" in str(error) or ".numpy()" in str(error)
        )
        return None if undecided else str(error)
    return None


def features(method: Any, kwargs: Mapping[str, Any]) -> int | None:
    """Returns the number of feature vectors that `method`, e.g. ``get_image_features``, makes of the inputs; None if it refuses them."""
    known = inspect.signature(method).parameters
    try:
        return isolated(lambda: _count(_run(method, {name: value for name, value in kwargs.items() if name in known})))
    except IsolatedError:
        return None


def _run(function: Any, kwargs: Mapping[str, Any]) -> Any:
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        return function(
            **tree_map(
                lambda value: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value, dict(kwargs)
            )
        )


def _count(result: Any) -> int:
    result = getattr(result, "pooler_output", result)
    tensors = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor)]
    return sum(int(value.numel()) // int(value.shape[-1]) for value in tensors)
