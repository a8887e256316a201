"""Methods of a compiled model that call the model, such as `generate`: their calls are those of the compiled model."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

# The method of transformers' models that returns what `generate` calls for each token.
_COMPILED_CALL = "get_compiled_call"


def caller_of(model: torch.nn.Module, call: Callable[..., Any], compiles_itself: Callable[[], bool]) -> torch.nn.Module:
    """A second object with the attributes of a model, whose calls are `call`. Raises any exception that the model's class raises when it is subclassed.

    Both share one dictionary of attributes, so all that a method reads or assigns is the model's. The class is derived from the
    model's, so `super()`, `isinstance` and look-ups in `type(self)` find what they find for the model. Copies are copies of the model.

    A model of transformers compiles itself with `torch.compile` for one token on a GPU. It gets `call` for that, unless `compiles_itself`.
    """
    kind = type(model)
    body = {
        "__call__": lambda _, *args, **kwargs: call(*args, **kwargs),
        "__reduce_ex__": lambda _, protocol: model.__reduce_ex__(protocol),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    if (compiled_call := getattr(kind, _COMPILED_CALL, None)) is not None:

        def chosen(_: Any, *args: Any, **kwargs: Any) -> Callable[..., Any]:
            return compiled_call(model, *args, **kwargs) if compiles_itself() else call

        body[_COMPILED_CALL] = chosen
    caller = object.__new__(types.new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(body)))
    object.__setattr__(caller, "__dict__", model.__dict__)
    return caller


def is_method(model: torch.nn.Module, name: str, value: Any) -> bool:
    """Returns whether an attribute is a method that the class of the model adds to those of `torch.nn.Module`, and not `forward`."""
    is_bound = isinstance(value, types.MethodType) and value.__self__ is model
    return is_bound and name != "forward" and not hasattr(torch.nn.Module, name)
