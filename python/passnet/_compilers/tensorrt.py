"""Torch-TensorRT. Each version of it needs one version of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from passnet._compilers import missing


def problem(device: str) -> str | None:
    if not device.startswith("cuda"):
        return "TensorRT compiles for CUDA devices; use --device cuda"
    return missing("torch_tensorrt", "torch-tensorrt")


def compile(module: torch.nn.Module) -> Callable[..., Any]:
    import torch_tensorrt  # noqa: F401 - registers the backend

    return torch.compile(module, backend="torch_tensorrt", dynamic=False)
