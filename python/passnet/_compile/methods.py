"""Support for methods that call the model, such as `generate`. On a compiled model, they call the compiled model."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from passnet._warning import warn

# Names that mean the compiled object's own method or attribute. `model` is left out: most language models have a part of this name, and
# a warning for each of them would be noise.
_OWN = ("options", "refresh", "report", "reset")

# Methods of modules that return the module.
CHAINED = frozenset({"apply", "bfloat16", "cpu", "cuda", "double", "float", "half"})
CHAINED |= {"requires_grad_", "share_memory", "to", "to_empty", "type"}

# The method of transformers' models that returns the function that `generate` calls for each token.
_COMPILED_CALL = "get_compiled_call"


def caller_of(model: torch.nn.Module, call: Callable[..., Any], compiles_itself: Callable[[], bool]) -> torch.nn.Module:
    """Returns a second object with the attributes of a model. A call of this object is a call of `call`.

    Both objects share one dictionary of attributes, so methods read and assign the attributes of the model. The class is a subclass of
    the model's class, so `super()`, `isinstance` and lookups in `type(self)` give the same as for the model. Copies are copies of the
    model.

    To generate one token on a GPU, a model of transformers compiles itself with `torch.compile`. Here it uses `call` instead, unless
    `compiles_itself()` is true.

    Raises any exception that the model's class raises if it is subclassed.
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
    """Returns whether an attribute is a method that the model's class defines, other than `forward` and the methods of `torch.nn.Module`."""
    is_bound = isinstance(value, types.MethodType) and value.__self__ is model
    return is_bound and name != "forward" and not hasattr(torch.nn.Module, name)


def warn_of_hidden(model: Callable[..., Any]) -> None:
    """Warns of attributes that the compiled object hides by its own: `compiled.reset()` would not reset the state of the model."""
    # `dir`, because `getattr` would run the code of properties. Modules list their submodules, parameters and buffers there.
    names = dir(model)
    hidden = [f"`{name}`" for name in _OWN if name in names]
    if hidden:
        kind = getattr(model, "__qualname__", type(model).__name__)
        advice = "on the compiled object, these names mean PassNet's own; for those of the model, use the model or `compiled.model`"
        warn(f"{kind} has attributes that `passnet.compile` hides: {', '.join(hidden)}; {advice}")
