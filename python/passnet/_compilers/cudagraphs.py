"""CUDA graphs over eager kernels: one launch for all, nothing fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def problem(device: str) -> str | None:
    return None if device.startswith("cuda") else "CUDA graphs need a CUDA device; use --device cuda"


def compile(module: torch.nn.Module) -> Callable[..., Any]:
    return torch.compile(module, backend="cudagraphs", dynamic=False)
