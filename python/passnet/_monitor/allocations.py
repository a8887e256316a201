"""Memory of checked calls: limits on the memory that kernels can reach, and the sizes of allocations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from passnet import _native
from passnet._monitor import intercept
from passnet._monitor.modes import PlainDispatchMode

# Largest request that the allocator serves from segments of small blocks, in bytes.
_SMALL = 1 << 20


class Allocations(PlainDispatchMode):
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
    intercept.next_patterns()
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


def released(
    sizes: list[tuple[int, torch.device]], device: torch.device
) -> Callable[[], list[torch.Tensor]] | FreeMemory | None:
    """Returns a function that allocates the memory that calls have released; `None` if they release none.

    On a CUDA device, a kernel can reach all memory of the allocator, so all that is free is returned.
    """
    if device.type == "cuda":
        # Released to the driver here, so that little is left to overwrite between calls.
        torch.cuda.empty_cache()
        return FreeMemory(device)
    return (lambda: allocated(sizes)) if sizes else None


class FreeMemory:
    """Free memory of PyTorch's allocator on a CUDA device for the current stream, except that of CUDA graphs."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.stream = torch.cuda.current_stream(device).cuda_stream
        # `torch.cuda.caching_allocator_alloc` calls this function, and takes several times as long.
        self.allocate = torch._C._cuda_cudaCachingAllocator_raw_alloc
        self.release = torch._C._cuda_cudaCachingAllocator_raw_delete

    def free_bytes(self) -> int:
        """Returns the number of bytes that the allocator has and nothing uses, also for other streams and CUDA graphs."""
        stats = torch.cuda.memory_stats_as_nested_dict(self._device)
        return stats["reserved_bytes"]["all"]["current"] - stats["active_bytes"]["all"]["current"]

    def sizes(self) -> list[int]:
        """Returns sizes whose allocation, in this order, takes all free memory for the stream.

        The allocator serves requests up to 1 MiB from other segments than larger ones, and splits blocks.
        """
        sizes = []
        for segment in torch.cuda.memory_snapshot():
            place = (segment["device"], segment["stream"], segment["segment_pool_id"])
            if place != (self._device.index or 0, self.stream, (0, 0)):
                continue
            most = _SMALL if segment["segment_type"] == "small" else segment["total_size"]
            for block in segment["blocks"]:
                if block["state"] == "inactive":
                    whole, rest = divmod(block["size"], most)
                    sizes += [most] * whole + [rest] * bool(rest)
        return sorted(sizes, reverse=True)


def _storages(values: Iterable[Any]) -> dict[int, torch.UntypedStorage]:
    """Returns the storages of the tensors among the values, by the address of PyTorch's storage object."""
    plain = (value for value in values if isinstance(value, torch.Tensor) and value.layout == torch.strided)
    return {storage._cdata: storage for storage in (value.untyped_storage() for value in plain)}
