"""Compares a captured call with the model itself, because code can behave differently while Dynamo captures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from passnet._backend.compare import difference
from passnet._compile.capture import Captured


class RandomState:
    """The state of PyTorch's random generators at the creation of the object."""

    def __init__(self) -> None:
        self._devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
        self._cpu = torch.get_rng_state()
        self._cuda = [torch.cuda.get_rng_state(device) for device in self._devices]

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the result of a call that begins in this random state. The current state is restored afterwards."""
        with torch.random.fork_rng(self._devices):
            torch.set_rng_state(self._cpu)
            for device, state in zip(self._devices, self._cuda, strict=True):
                torch.cuda.set_rng_state(state, device)
            return function(*args, **kwargs)


class UnfaithfulError(Exception):
    """A captured call computes another result than the model. `result` is the result of the model."""

    def __init__(self, fault: str, result: Any) -> None:
        super().__init__(f"captured, it gives another result: {fault}")
        self.result = result


def compare_with_model(
    model: Callable[..., Any], captured: Captured, before: RandomState, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises `UnfaithfulError` if the captured result differs from the result of the model itself.

    Modules of PyTorch can take other branches while they are captured: `TransformerEncoder` sets padded positions to zero only
    outside a capture. A call that writes to its arguments or buffers is not repeated, and so not compared.
    """
    if captured.mutated or captured.written:
        return
    result = before.call(model, args, kwargs)
    found, expected = list(_tensors(captured.result, set())), list(_tensors(result, set()))
    if (fault := difference(found, expected, ())) is not None:
        raise UnfaithfulError(fault, result)


def _tensors(value: Any, seen: set[int]) -> Iterator[torch.Tensor]:
    """Yields the dense tensors within containers and plain objects, in order."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        if value.layout is torch.strided:
            yield value.detach()
        return
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    for item in (*items, *getattr(value, "__dict__", {}).values()):
        yield from _tensors(item, seen)
