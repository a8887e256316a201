"""Memory of checked calls: limits on the memory that kernels can reach, and the sizes of allocations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from passnet import _native


class Allocations(TorchDispatchMode):
    """Records the sizes of new memory that operators return, in order. All operators run."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: list[tuple[int, torch.device]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = _storages((*args, *(kwargs or {}).values()))
        made = _storages(result if isinstance(result, (tuple, list)) else (result,))
        self._sizes += [
            (storage.nbytes(), storage.device)
            for address, storage in made.items()
            if address not in given and storage.nbytes()
        ]
        return result

    def sizes(self, arguments: Iterable[Any], result: Any) -> list[tuple[int, torch.device]]:
        """Returns the bytes and the device of each allocation of the call; an empty list if the call returned all its allocations."""
        values = result if isinstance(result, (tuple, list)) else (result,)
        returned = _storages(values).keys() - _storages(arguments).keys()
        return self._sizes if len(self._sizes) > len(returned) else []


def guarded(
    function: Callable[..., Any], arguments: list[Any], number: int
) -> tuple[Any, list[tuple[int, torch.device]]]:
    """Calls a function whose C++ kernels can access only their tensors. These lie at the end of accessible pages in call `number` 1, at
    the start in call 2, in their own memory in call 3, and so on. Returns the result and the allocations (`Allocations.sizes`)."""
    _native.guard_kernels(("end", "start", "home")[(number - 1) % 3])
    try:
        with Allocations() as seen:
            result = function(*arguments)
    finally:
        _native.guard_kernels(None)
    return result, seen.sizes(arguments, result)


def allocated(sizes: list[tuple[int, torch.device]]) -> list[torch.Tensor]:
    """Allocates memory of these sizes."""
    return [torch.empty(nbytes, dtype=torch.uint8, device=device) for nbytes, device in sizes]


def _storages(values: Iterable[Any]) -> dict[int, torch.UntypedStorage]:
    """Returns the storages of the tensors among the values, by the address of PyTorch's storage object."""
    plain = (value for value in values if isinstance(value, torch.Tensor) and value.layout == torch.strided)
    return {storage._cdata: storage for storage in (value.untyped_storage() for value in plain)}
