"""Replacement functions whose launches are repeated without running their Python code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.fx
from torch.overrides import TorchFunctionMode

from passnet import _native

try:
    from torch._C._dynamo import guards as _guards
except ImportError:  # This build of PyTorch lacks the check. No function is prepared then.
    _guards = None

ALLOCATIONS = (torch.empty, torch.empty_like, torch.empty_strided)

# Functions that read properties of a tensor that the signature of a call contains.
QUESTIONS = frozenset(
    [
        *(torch.Tensor.dim, torch.Tensor.element_size, torch.Tensor.get_device, torch.Tensor.is_contiguous),
        # Lazily conjugated and negated tensors have other dispatch keys, and a plan is for tensors with the same keys.
        *(torch.Tensor.is_conj, torch.Tensor.is_neg),
        *(torch.Tensor.numel, torch.Tensor.size, torch.Tensor.stride, torch.Tensor.__len__),
        *(
            getattr(torch.Tensor, name).__get__
            for name in ("device", "dtype", "is_cpu", "is_cuda", "itemsize", "layout", "nbytes", "ndim", "shape")
        ),
    ]
)


# A function that makes a tensor, with its arguments, and the number of the tensor that it views, if any: the first argument then.
_Made = tuple[Callable[..., torch.Tensor], tuple, int | None]


class _Observer(TorchFunctionMode):
    """Records allocations and views, and whether a function of PyTorch is called that does anything else than read shapes."""

    def __init__(self, arguments: list[torch.Tensor]) -> None:
        super().__init__()
        self.slots = list(arguments)
        self.made: list[_Made] = []
        self.reads_offsets = False
        self.is_hopeless = False

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in ALLOCATIONS and "out" not in (kwargs or {}):
            self._record(result, _allocation(result))
        elif func is torch.Tensor.as_strided:
            # Without an offset, the view begins where its tensor does.
            self.reads_offsets |= len(args) > 3 or bool(kwargs)
            self._record(result, _view(result, args[0], self.slots))
        elif func is torch.Tensor.storage_offset:
            self.reads_offsets = True
        else:
            self.is_hopeless |= func not in QUESTIONS
        return result

    def _record(self, result: torch.Tensor, made: _Made | None) -> None:
        self.is_hopeless |= made is None
        if made is not None:
            self.slots.append(result)
            self.made.append(made)


def prepared(function: Callable[..., Any]) -> Any:
    """Makes calls of a replacement function cheap for the host: later calls repeat its launches and skip its Python code.

    The first call with arguments of a signature (types, shapes, strides and devices of tensors, values of numbers) is recorded.
    Later calls of this signature repeat its allocations and launches. The function may

    - look at shapes, strides, types and devices;
    - allocate with `torch.empty`, `empty_like` or `empty_strided`;
    - view with `x.as_strided` tensors that need no gradient;
    - launch kernels of this module;
    - return tensors that it has made, or arguments, alone or in a tuple or list.

    All actions must depend on the signature alone. If it calls anything else of PyTorch, it runs as if it were not prepared, and so
    does a call under a mode of PyTorch. A call with proxies of `torch.fx` is recorded as one node.
    """
    leaf = _leaf(function)
    if not hasattr(_guards, "TensorGuards"):
        return leaf
    stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    prepared_function = functools.update_wrapper(_native.PreparedFunction(leaf, _observed, stream), function)
    leaf.__dict__["target"] = prepared_function
    return prepared_function


def _leaf(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function as a leaf of symbolic tracing: one call in the traced graph, because its body needs real tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.fx.Proxy):
                return value.tracer.create_proxy("call_function", call.__dict__.get("target", call), args, kwargs)
        return function(*args, **kwargs)

    return call


def _observed(function: Callable[..., Any], arguments: tuple) -> tuple[Any, bool, tuple | None]:
    """Calls the function. Returns its result, whether this signature can never be prepared, and the plan; None if there is no plan."""
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    if not _is_ordinary(tensors) or any(isinstance(value, torch.fx.Proxy) for value in arguments):
        return function(*arguments), False, None
    with _Observer(tensors) as observer:
        result = function(*arguments)
    results = _places(result, observer.slots)
    if observer.is_hopeless or results is None:
        return result, True, None
    _keep_views(observer, results, len(tensors))
    places = [place for place, value in enumerate(arguments) if isinstance(value, torch.Tensor)]
    # The signature has no offsets, so a plan that depends on them is for these offsets only.
    offsets = [tensor.storage_offset() for tensor in tensors] if observer.reads_offsets else []
    return result, False, (signature_check(tensors), places, observer.slots, observer.made, results, offsets)


def _is_ordinary(tensors: list[torch.Tensor]) -> bool:
    """Returns whether a plan of a call with these tensors is valid for other tensors, and no mode of PyTorch observes the call."""
    return (
        all(type(tensor) in (torch.Tensor, torch.nn.Parameter) for tensor in tensors)
        and len({id(tensor) for tensor in tensors}) == len(tensors)
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._C._len_torch_function_stack() == 0
    )


def _places(result: Any, slots: list[torch.Tensor]) -> int | tuple[int, ...] | list[int] | None:
    """Returns the positions of the results among the tensors; None if a result is not among them."""
    if isinstance(result, torch.Tensor):
        return next((number for number, slot in enumerate(slots) if slot is result), None)
    if type(result) not in (tuple, list):
        return None
    places = [_places(part, slots) if isinstance(part, torch.Tensor) else None for part in result]
    return None if None in places else type(result)(places)


def _allocation(tensor: torch.Tensor) -> _Made | None:
    """Returns a call that allocates a tensor with the properties of a new tensor; None if there is no such call."""
    allocate = getattr(_guards, f"_empty_strided_{tensor.device.type}", None)
    is_plain = tensor.layout == torch.strided and not tensor.requires_grad
    if allocate is None or not is_plain or (tensor.is_cpu and tensor.is_pinned()):
        return None
    return allocate, (tuple(tensor.shape), tensor.stride(), tensor.dtype), None


def _view(view: torch.Tensor, of: torch.Tensor, slots: list[torch.Tensor]) -> _Made | None:
    """Returns a call that makes the view of a tensor; None if there is no such call."""
    make = getattr(_guards, "_reinterpret_tensor", None)
    number = next((number for number, slot in enumerate(slots) if slot is of), None)
    # Such a view is none to autograd.
    if make is None or number is None or of.requires_grad or of.layout != torch.strided:
        return None
    return make, (tuple(view.shape), view.stride(), view.storage_offset() - of.storage_offset()), number


def _keep_views(observer: _Observer, results: int | tuple[int, ...] | list[int], arguments: int) -> None:
    """Makes results that view arguments by `as_strided`, so that PyTorch counts writes to them together with those to the arguments.

    Other views stay as `_view` makes them, which is faster.
    """
    for number in (results,) if isinstance(results, int) else results:
        chain = []
        while number >= arguments and (of := observer.made[number - arguments][2]) is not None:
            chain.append((number, of))
            number = of
        if number >= arguments:
            continue
        for view, of in chain:
            tensor = observer.slots[view]
            place = tensor.storage_offset()
            offset = () if place == observer.slots[of].storage_offset() else (place,)
            observer.made[view - arguments] = (
                torch.Tensor.as_strided,
                (tuple(tensor.shape), tensor.stride(), *offset),
                of,
            )


def signature_check(tensors: list[torch.Tensor]) -> Callable[..., bool]:
    """Returns a function that returns whether tensors have the types, shapes, strides and devices of these tensors, in the same modes.

    If this PyTorch does not have the native check, the function always returns False.
    """
    if not hasattr(_guards, "TensorGuards"):
        return lambda *_: False
    if not tensors:
        witness = torch.empty(0)
        check = signature_check([witness])
        return lambda: check(witness)
    return _guards.TensorGuards(
        *tensors,
        dynamic_dims_sizes=[list(tensor.shape) for tensor in tensors],
        dynamic_dims_strides=[list(tensor.stride()) for tensor in tensors],
    ).check
