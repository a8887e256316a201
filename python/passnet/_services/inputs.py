"""Makes input tensors from the metadata of a sample, to run a graph once.

The rules are those of ``docs/reference/inputs.md`` with one exception: a recorded deviation is used without GraphNet's factor of 0.2,
because the effect of such a factor at every input multiplies over the depth of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

# Integer dtypes, whose values may be indices.
INTEGERS = {"int8", "int16", "int32", "int64", "uint8"}
# Dtypes that the tables of a dataset have (`DType` of `passnet-record`).
DTYPES = INTEGERS | {"float64", "float32", "float16", "bfloat16", "bool", "complex64", "complex128"}


def dtype_name(tensor: torch.Tensor) -> str | None:
    """Returns the name of a tensor's dtype in replies; None for a dtype that the tables of a dataset do not have, such as ``complex32``."""
    name = str(tensor.dtype).removeprefix("torch.")
    return name if name in DTYPES else None


def make_inputs(metas: Sequence[dict[str, Any]], seed: int = 0) -> list[Any]:
    """Returns one value on the CPU for each meta (`passnet_record::TensorMeta` as JSON)."""
    generator = torch.Generator().manual_seed(seed)
    return [_make(meta, generator) for meta in metas]


def _make(meta: dict[str, Any], generator: torch.Generator) -> torch.Tensor:
    shape, dtype = meta["shape"], getattr(torch, meta["dtype"])
    low, high = meta.get("min_val"), meta.get("max_val")
    if meta["dtype"] in INTEGERS and low is not None and high is not None:
        return torch.randint(int(low), int(high) + 1, shape, generator=generator).to(dtype)
    if meta.get("data") is not None:
        literals = [float(x) if isinstance(x, str) else x for x in meta["data"]]
        return torch.tensor(literals, dtype=dtype).reshape(shape)
    if dtype == torch.bool:
        return torch.randn(shape, generator=generator) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.zeros(shape, dtype=dtype)
    mean, std = _finite(meta.get("mean"), 0.0), _finite(meta.get("std"), 0.1)
    noise = torch.zeros(shape) if std == 0 else torch.randn(shape, generator=generator)
    value = noise.mul_(std).add_(mean)
    if low is not None or high is not None:
        value.clamp_(low, high)
    return value.to(dtype)


def _finite(value: Any, default: float) -> float:
    value = default if value is None else float(value)
    return value if abs(value) < 1e30 else default
