"""Lightning Thunder. TorchInductor compiles the parts that Thunder does not support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from passnet._compilers import missing


def problem(device: str) -> str | None:
    return missing("thunder", "lightning-thunder") or missing("thunder.dynamo", "lightning-thunder")


def compile(module: torch.nn.Module) -> Callable[..., Any]:
    from thunder.dynamo import ThunderCompiler

    return torch.compile(module, backend=ThunderCompiler(), dynamic=False)
