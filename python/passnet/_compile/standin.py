"""The part of a compiled model that makes it usable in place of the model: attributes, classes, copies and items."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch

from passnet._compile.methods import CHAINED, is_method
from passnet._compile.options import Options


class StandIn:
    """An object in place of a model. Attributes that it does not have are those of the model."""

    model: Callable[..., Any]
    options: Options
    _caller: torch.nn.Module | None

    @property
    def __class__(self) -> type:
        """The class of the model if the model is a module: `isinstance` holds, and other modules register this object as a submodule.

        Parameters and names in `state_dict` are those of the model without compilation. `type(...)` is `Compiled`.
        """
        model = self.__dict__.get("model")
        return type(model) if isinstance(model, torch.nn.Module) else type(self)

    # Not `__reduce__`: `object.__reduce_ex__` looks `__reduce__` up in `__class__`.
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Copies and pickles have the model and the options, but no compiled graphs."""
        return type(self), (self.model, self.options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *dir(self.model)})

    def __delattr__(self, name: str) -> None:
        delattr(self.model, name)

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the model: parameters, `state_dict`, submodules. `to` and the like change the model and return this object.

        Methods of the model's class that call the model, such as `generate`, call this object instead.
        """
        # Before `__init__`, for example while a copy is made, there is no model.
        if name.startswith("__") or "model" not in self.__dict__:
            raise AttributeError(f"`{type(self).__name__}` has no attribute `{name}`")
        value = getattr(self.model, name)
        if not isinstance(self.model, torch.nn.Module):
            return value
        if is_method(self.model, name, value):
            return types.MethodType(value.__func__, self._as_caller())
        if name not in CHAINED:
            return value

        @functools.wraps(value)
        def chained(*args: Any, **kwargs: Any) -> Any:
            result = value(*args, **kwargs)
            return self if result is self.model else result

        return chained

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if name in ("model", "options") and name in own:
            raise AttributeError(
                f"`{name}` of a compiled model cannot be replaced; the model's own is `compiled.model.{name}`"
            )
        # `__init__` assigns `_caller` last. Later, another name is that of an attribute of the model, also if it begins with `_`.
        is_own = name in own or name.startswith("__") or "_caller" not in own
        if is_own or not isinstance(self.model, torch.nn.Module):
            object.__setattr__(self, name, value)
        else:
            setattr(self.model, name, value)

    def __getitem__(self, key: Any) -> Any:
        """Returns a part of a model such as `torch.nn.Sequential`, by number or name."""
        return self.model[key]

    def __len__(self) -> int:
        return len(self.model)

    def __bool__(self) -> bool:
        return not hasattr(self.model, "__len__") or len(self.model) > 0

    def _as_caller(self) -> torch.nn.Module:
        """Returns the object that methods of the model get as `self`."""
        raise NotImplementedError
