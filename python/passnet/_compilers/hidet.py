"""Hidet: its own kernels for CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from passnet._compilers import missing


def problem(device: str) -> str | None:
    if not device.startswith("cuda"):
        return "hidet compiles for CUDA devices; use --device cuda"
    return missing("hidet", "hidet")


def compile(module: torch.nn.Module) -> Callable[..., Any]:
    import hidet  # registers the backend

    return torch.compile(module, backend=hidet.torch.dynamo_backends.hidet_backend, dynamic=False)
