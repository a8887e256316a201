"""Binds the arguments of a call as torch does: by the Python signature of the function, or by the schemas of its operator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
import torch.jit._builtins

# Names that torch accepts as keywords in addition to the names of the parameters.
_KEYWORD_ALIASES = {"axis": "dim", "keepdims": "keepdim", "input": "self"}
# Parameters without effect on the result, such as the stack level for a warning.
_IGNORED_PARAMETERS = {"_stacklevel"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an operator."""

    name: str
    type: str  # of TorchScript, without `Optional[...]`
    optional: bool
    length: int | None  # of a list that an integer may stand for
    keyword_only: bool
    required: bool
    default: Any


Schema = tuple[Parameter, ...]


# Functions whose operands may be passed separately or as one list, with the number of arguments before the operands.
_OPERANDS = {"einsum": 1, "meshgrid": 0, "atleast_1d": 0, "atleast_2d": 0, "atleast_3d": 0}


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function of `torch.functional` for a builtin function that tracing recorded. Returns other functions unchanged."""
    name = getattr(function, "__name__", "")
    is_inner = name in _OPERANDS and function == getattr(torch._VF, name)
    return getattr(torch.functional, name) if is_inner else function


def bind(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the arguments of a function call by parameter name, including defaults; `None` if no signature is known."""
    signature = _signature(function)
    if signature is not None:
        return _bind_signature(signature, args, kwargs)
    name = function.__name__ if inspect.isfunction(function) else ""
    if name in _OPERANDS and function is getattr(torch.functional, name):
        given = {key: value for key, value in kwargs.items() if value is not None}
        return _bind_schemas(_schemas(f"aten::{name}"), _gathered(args, _OPERANDS[name]), given)
    operator = torch.jit._builtins._find_builtin(function)
    return _bind_schemas(_schemas(operator), args, kwargs) if operator else None


def bind_method(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Binds the arguments of a method of `Tensor`, as `bind` does. The receiver is `args[0]`, and is returned as `self`."""
    method = getattr(torch.Tensor, name, None)
    signature = _signature(method) if inspect.isfunction(method) else None
    if signature is not None:
        return _bind_signature(signature, args, kwargs)
    return _bind_schemas(_schemas(f"aten::{name}"), args, kwargs)


@functools.lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    dispatched = torch._jit_internal.boolean_dispatched.get(function)
    if dispatched is not None:
        function = dispatched["if_false"]
    if not inspect.isfunction(function):
        return None
    signature = inspect.signature(function)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return None if any(parameter.kind in variadic for parameter in signature.parameters.values()) else signature


def _bind_signature(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return {name: _listed(value) for name, value in bound.arguments.items() if name not in _IGNORED_PARAMETERS}


@functools.lru_cache(maxsize=1024)
def _schemas(operator: str) -> tuple[Schema, ...]:
    """Returns the schemas of all overloads of an operator, except those that write to `out`."""
    schemas = []
    for schema in torch._C._jit_get_schemas_for_operator(operator):
        if any(argument.is_out for argument in schema.arguments):
            continue
        schemas.append(tuple(_parameter(argument) for argument in schema.arguments))
    return tuple(schemas)


def _parameter(argument: Any) -> Parameter:
    kind = str(argument.real_type)
    optional = kind.startswith("Optional[")
    has_default = argument.has_default_value()
    return Parameter(
        name=argument.name,
        type=kind.removeprefix("Optional[")[:-1] if optional else kind,
        optional=optional,
        length=argument.N,
        keyword_only=argument.kwarg_only,
        required=not has_default and not optional,
        default=argument.default_value if has_default else None,
    )


def _bind_schemas(schemas: Sequence[Schema], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """Binds the arguments to the overload with the highest score, the first one in case of a tie; `None` if none fits."""
    fits = [fit for schema in schemas if (fit := _bind_schema(schema, args, kwargs)) is not None]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


def _bind_schema(schema: Schema, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """Returns a score of how well the arguments fit a schema, and the binding; `None` if they do not fit."""
    positional = [parameter for parameter in schema if not parameter.keyword_only]
    args = _packed(positional, args)
    if len(args) > len(positional):
        return None
    given = dict(zip((parameter.name for parameter in positional), args, strict=False))
    names = {parameter.name for parameter in schema}
    for key, value in kwargs.items():
        name = key if key in names else _KEYWORD_ALIASES.get(key)
        if name not in names or name in given:
            return None
        given[name] = value
    score = 0
    bound = {}
    for parameter in schema:
        if parameter.name in given:
            fit = _fit(given[parameter.name], parameter)
            if fit is None:
                return None
            points, value = fit
            score += points
        elif parameter.required:
            return None
        else:
            value = _listed(parameter.default)
        bound[parameter.name] = value
    return score, bound


def _gathered(args: Sequence[Any], place: int) -> Sequence[Any]:
    """Returns arguments such as `(equation, a, b)` of `einsum` as `(equation, [a, b])`.

    A single tensor, as in `atleast_1d(a)`, stays: the function returns a tensor for a tensor, and a tuple for a list.
    """
    operands = args[place:]
    if len(operands) == 1 and (isinstance(operands[0], (list, tuple)) or not place):
        return args
    return [*args[:place], list(operands)]


def _packed(positional: Sequence[Parameter], args: Sequence[Any]) -> Sequence[Any]:
    """Returns arguments such as `(x, 2, 3)` of `view` as `(x, [2, 3])`: torch accepts the items of a last list as separate arguments."""
    for place, parameter in enumerate(positional):
        spread = args[place:]
        is_list = parameter.type == "List[int]"
        if is_list and (len(spread) > 1 or (spread and isinstance(spread[0], int))) and _all_sizes(spread):
            return [*args[:place], list(spread)]
    return args


def _all_sizes(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, torch.fx.Node)) and not isinstance(value, bool) for value in values)


def _fit(value: Any, parameter: Parameter) -> tuple[int, Any] | None:
    """Returns the score and normal form of a value for a parameter: 2 for the type of the parameter, less if torch converts.

    Returns `None` if the value does not fit.
    """
    kind = parameter.type
    if value is None:
        return (2, None) if parameter.optional else None
    if isinstance(value, torch.fx.Node):
        return {"Tensor": 2, "int": 1, "number": 1, "List[int]": 1, "List[Tensor]": 1}.get(kind, 0), value
    if isinstance(value, (list, tuple)):
        return (2, _listed(value)) if kind.startswith("List[") else None
    if isinstance(value, bool):
        return {"bool": (2, value), "number": (1, value)}.get(kind)
    if isinstance(value, int):
        if kind == "List[int]" and parameter.length is not None:
            return 1, [value] * parameter.length
        return {"int": (2, value), "number": (2, value), "float": (1, float(value)), "Tensor": (0, value)}.get(kind)
    if isinstance(value, float):
        return {"float": (2, value), "number": (2, value), "Tensor": (0, value)}.get(kind)
    if isinstance(value, str):
        return {"str": (2, value), "Device": (1, value)}.get(kind)
    expected = {
        torch.dtype: "ScalarType",
        torch.device: "Device",
        torch.layout: "Layout",
        torch.memory_format: "MemoryFormat",
    }
    return (2, value) if expected.get(type(value)) == kind else None


def _listed(value: Any) -> Any:
    """Returns tuples as lists, because torch accepts both for a sequence."""
    if isinstance(value, (list, tuple)):
        return [_listed(item) for item in value]
    return value
