"""Tensors in shared blocks of memory: inputs from the referee, and outputs for the referee."""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Protocol

import torch

from passnet import _native
from passnet._monitor import intercept

# A block of inputs is read-only on purpose, and nothing writes to it. Suspending warnings around each block would cost
# more than the block.
warnings.filterwarnings("ignore", message="The given buffer is not writable")

_ALIGNMENT = 64
# Size of the buffer through which values are copied from a device to a file.
_STAGE_BYTES = 8 << 20
# Number of bytes that are compared on a device at a time.
_PART = 64 << 20
_DTYPES = {
    name: getattr(torch, name)
    for name in (
        *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"),
        *("complex64", "complex128"),
    )
}
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# Methods of the type, read before a pass is imported. A pass can set attributes of a tensor, and Python finds these first: after
# `result.stride = lambda: ...`, a call can return any value, and an attribute `result.detach` may run code when it is read.
_DATA_PTR = torch.Tensor.data_ptr
_DETACH = torch.Tensor.detach
_NUMEL = torch.Tensor.numel
_STORAGE = torch._C.TensorBase.untyped_storage
_STRIDE = torch.Tensor.stride


class Layouts:
    """Layouts of the tensors of one set of inputs in a block."""

    def __init__(self, layouts: list[dict[str, Any]]) -> None:
        self.names = [layout["name"] for layout in layouts]
        self.places = [_place(layout) for layout in layouts]
        self.end = max((layout["offset"] + layout["nbytes"] for layout in layouts), default=0)

    def sets(self, block: int, count: int, stride: int, device: torch.device) -> list[InputSet]:
        """Makes `count` sets from the block with this descriptor. Each set begins `stride` bytes after the previous one."""
        base = self.base(block, count, stride)
        return [InputSet(base[number * stride :], self, device) for number in range(count)]

    def base(self, block: int, count: int, stride: int) -> torch.Tensor:
        """Returns the bytes of the block with this descriptor, which has to contain `count` sets."""
        size = os.fstat(block).st_size
        if self.end + (count - 1) * stride > size:
            raise ValueError(f"a tensor lies outside the block of {size} bytes")
        if not size:
            return torch.empty(0, dtype=torch.uint8)
        # One mapping for all tensors, because many sets are made.
        return torch.frombuffer(mmap.mmap(block, size, mmap.MAP_PRIVATE, mmap.PROT_READ), dtype=torch.uint8)


class InputSet:
    """One set of inputs: new tensors on the device, and the part of the block that they were copied from.

    On the CPU, `memory` has the tensors if it is given.
    """

    def __init__(
        self,
        block: torch.Tensor,
        layouts: Layouts,
        device: torch.device,
        memory: _native.InputMemory | None = None,
    ) -> None:
        self.names = layouts.names
        self.host_memory = memory
        self._block = block
        self._places = layouts.places
        self._device = device
        if device.type == "cpu":
            self.tensors = tuple(self._copies(block.data_ptr(), memory))
        else:
            self.tensors = tuple(original.to(device, copy=True) for original in self._originals())
        # A pass can give a tensor other memory (`set_`), but cannot change these references.
        self._storages = [tensor.untyped_storage() for tensor in self.tensors]
        self._guarded = False
        # For each tensor, a function that returns whether it has the bytes that it last got; None if these bytes are in the block.
        self.holds: list[Callable[[], bool]] | None = None

    def _copies(self, address: int, memory: _native.InputMemory | None) -> Iterator[torch.Tensor]:
        targets: Iterable[int | None] = memory.addresses() if memory else itertools.repeat(None)
        # This takes a third of the time of views and copies of them.
        for (start, end, dtype, shape), target in zip(self._places, targets, strict=False):
            nbytes = end - start
            tensor = (
                torch.empty(shape, dtype=dtype) if target is None or not nbytes else _at(target, nbytes, dtype, shape)
            )
            ctypes.memmove(tensor.data_ptr(), address + start, nbytes)
            yield tensor

    def _originals(self) -> Iterator[torch.Tensor]:
        for start, end, dtype, shape in self._places:
            empty = start == end
            yield torch.empty(shape, dtype=dtype) if empty else self._block[start:end].view(dtype).view(shape)

    def copies(self) -> list[torch.Tensor]:
        """Returns new tensors on the device with the initial content."""
        return [original.to(self._device, copy=True) for original in self._originals()]

    def address(self, index: int) -> int:
        """Returns the address of a tensor's storage."""
        return self._storages[index].data_ptr()

    def flat(self, index: int) -> torch.Tensor:
        """Returns all values of a tensor's storage as another tensor."""
        start, end, dtype, _ = self._places[index]
        storage = self._storages[index]
        return torch.empty(0, dtype=dtype, device=self._device).set_(storage, 0, ((end - start) // dtype.itemsize,))

    def memory(self, names: Collection[str]) -> list[tuple[int, int]]:
        """Returns the addresses and the numbers of bytes of the tensors with these names."""
        return [
            (storage.data_ptr(), end - start)
            for name, storage, (start, end, _, _) in zip(self.names, self._storages, self._places, strict=True)
            if name in names
        ]

    def restore(self) -> None:
        """Restores the initial content of all tensors."""
        for tensor, original in zip(self.tensors, self._originals(), strict=True):
            tensor.copy_(original)

    def guard(self) -> None:
        """Adds a margin of poison after each tensor."""
        self._guarded = True
        for tensor, storage, original in zip(self.tensors, self._storages, self._originals(), strict=True):
            intercept.poison(storage, torch.uint8)
            tensor.copy_(original)

    def is_overrun(self) -> bool:
        """Returns whether the margin of a guarded tensor was written to."""
        sizes = [end - start for start, end, _, _ in self._places]
        return self._guarded and any(map(intercept.is_overrun, self._storages, sizes))

    def mutated(self) -> list[tuple[str, torch.Tensor]]:
        """Returns the name and the present content (on the CPU) of each tensor whose bytes have changed."""
        changed = []
        for index, (name, storage, place) in enumerate(zip(self.names, self._storages, self._places, strict=True)):
            _, _, dtype, shape = place
            if not (self.holds[index]() if self.holds else self._has_block(index)):
                changed.append((name, torch.empty(0, dtype=dtype).set_(storage.cpu(), 0, shape)))
        return changed

    def _has_block(self, index: int) -> bool:
        """Returns whether a tensor's storage has the bytes of the block.

        The bytes are copied to the device again, because a kernel could have changed an earlier copy there together with the storage.
        """
        start, end, _, _ = self._places[index]
        original = self._block[start:end]
        if self._device.type == "cpu":
            return _native.same_bytes(self.address(index), original.data_ptr(), end - start)
        parts = zip(self.flat(index).view(torch.uint8).split(_PART), original.split(_PART), strict=True)
        return all(torch.equal(now, part.to(self._device)) for now, part in parts)

    def aliases(self, tensor: torch.Tensor) -> str | None:
        """Returns the name of the input that shares the tensor's storage; None if there is none."""
        address = _storage_address(tensor)
        for name, storage in zip(self.names, self._storages, strict=True):
            if address and address == storage.data_ptr():
                return name
        return None


def _at(address: int, nbytes: int, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
    """Returns a tensor in memory of this process, which the caller keeps."""
    memory = (ctypes.c_char * nbytes).from_address(address)
    storage = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    # Not a view of the bytes: it has no base, like any other input.
    return torch.empty(0, dtype=dtype).set_(storage, 0, shape)


def _place(layout: dict[str, Any]) -> tuple[int, int, torch.dtype, list[int]]:
    """Returns first byte, end, dtype and shape of a tensor."""
    dtype, shape = _DTYPES[layout["dtype"]], layout["shape"]
    count = math.prod(shape)
    if count * dtype.itemsize != layout["nbytes"]:
        raise ValueError(f"`{layout['name']}`: {layout['nbytes']} bytes are not {count} elements of {dtype}")
    return layout["offset"], layout["offset"] + layout["nbytes"], dtype, shape


def _storage_address(tensor: torch.Tensor) -> int:
    return _STORAGE(tensor).data_ptr() if tensor.layout == torch.strided else 0


def _is_plain(value: Any) -> bool:
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout == torch.strided
        and value.dtype in _DTYPE_NAMES
        and value.device.type in ("cpu", "cuda")
    )


class Inputs(Protocol):
    """Inputs of a call, queried after the call."""

    def mutated(self) -> list[tuple[str, torch.Tensor]]: ...

    def aliases(self, tensor: torch.Tensor) -> str | None: ...


def ship(result: Any, inputs: Inputs) -> tuple[dict[str, Any], int | None]:
    """Returns the `outputs` reply for the result of a call, and the descriptor of its block, which the caller has to close."""
    values = _values(result)
    block = _Block()
    described = [_describe(position, value, block) for position, value in enumerate(values)]
    mutated = [block.add(name, tensor) for name, tensor in inputs.mutated()]
    reply = {
        "type": "outputs",
        "values": described,
        "mutated": mutated,
        "nbytes": block.nbytes,
        "notes": _aliases(values, inputs),
    }
    return reply, block.write()


def _values(result: Any) -> list[Any]:
    """Returns the values that a call returned.

    Reads the elements that a sequence stores, because a subclass could return other elements when it is iterated.
    """
    if isinstance(result, tuple):
        return list(tuple.__iter__(result))
    if isinstance(result, list):
        return list(list.__iter__(result))
    return [result]


def _describe(position: int, value: Any, block: _Block) -> dict[str, Any]:
    if value is None:
        return {"kind": "none"}
    if _is_plain(value):
        layout = block.add(str(position), value)
        return {
            "kind": "tensor",
            "layout": layout,
            "stride": list(_STRIDE(value)),
            "address": _DATA_PTR(value),
            "device": str(value.device),
        }
    if type(value) in (bool, int, float) and (type(value) is not int or -(2**63) <= value < 2**63):
        finite = type(value) is not float or math.isfinite(value)
        return {"kind": "scalar", "value": value if finite else str(value)}
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, torch.Tensor):
        name += f" ({value.dtype}, {value.layout}, {value.device})"
    return {"kind": "other", "type_name": name}


def _aliases(values: Any, inputs: Inputs) -> list[str]:
    notes = []
    seen: dict[int, int] = {}
    for position, value in enumerate(values):
        if not _is_plain(value):
            continue
        if name := inputs.aliases(value):
            notes.append(f"aliases_input:{position}:{name}")
        address = _storage_address(value)
        if address and address in seen:
            notes.append(f"aliases_output:{position}:{seen[address]}")
        seen.setdefault(address, position)
    return notes


class _Block:
    """Tensors that will be written to one `memfd`."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._parts: list[tuple[int, torch.Tensor]] = []

    def add(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        """Reserves space for a tensor and returns its layout."""
        offset, nbytes = self.nbytes, _NUMEL(tensor) * tensor.dtype.itemsize
        self._parts.append((offset, tensor))
        self.nbytes = -(-(offset + nbytes) // _ALIGNMENT) * _ALIGNMENT
        shape = list(tensor.shape)
        return {
            "name": name,
            "dtype": _DTYPE_NAMES[tensor.dtype],
            "shape": shape,
            "offset": offset,
            "nbytes": nbytes,
        }

    def write(self) -> int | None:
        """Copies all tensors, contiguous. Returns the descriptor, or `None` if there are no bytes.

        This process does not map the block, so that the referee can seal it against changes when it arrives.
        """
        if self.nbytes == 0:
            return None
        descriptor = os.memfd_create("outputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, self.nbytes)
        for offset, tensor in self._parts:
            if _NUMEL(tensor):
                _write_values(descriptor, offset, _DETACH(tensor).contiguous())
        return descriptor


def _write_values(descriptor: int, offset: int, tensor: torch.Tensor) -> None:
    """Writes the values of a contiguous tensor to a file."""
    if tensor.is_cpu:
        _write_memory(descriptor, offset, tensor.data_ptr(), tensor.nbytes)
        return
    # Copied through pinned memory, because a copy to new memory spends most of its time on page faults.
    values = tensor.view(-1).view(torch.uint8)
    stage = torch.empty(min(_STAGE_BYTES, values.numel()), dtype=torch.uint8, pin_memory=True)
    for part in values.split(_STAGE_BYTES):
        stage[: part.numel()].copy_(part)
        _write_memory(descriptor, offset, stage.data_ptr(), part.numel())
        offset += part.numel()


def _write_memory(descriptor: int, offset: int, address: int, nbytes: int) -> None:
    memory = memoryview((ctypes.c_char * nbytes).from_address(address)).cast("B")
    while memory:
        written = os.pwrite(descriptor, memory, offset)
        memory, offset = memory[written:], offset + written
