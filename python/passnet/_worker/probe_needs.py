"""Probes that PyTorch, compilers and Triton work inside the sandbox (`passnet doctor`)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from passnet._worker.probe_registry import Probes

NEEDS = Probes()

_TRITON = """
@triton.jit
def twice(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, 2 * tl.load(x + i))
"""


@NEEDS.add
def _torch(device: str) -> str:
    import torch

    x = torch.ones(64, 64, device=device)
    return f"sum {float((x @ x).relu().sum()):.0f} on {device}"


@NEEDS.add
def _name_thread(_: str) -> str:
    """Names a thread in the way of the CUDA driver: truncates and writes a file of `/proc`. The driver does not start if this fails."""
    name = f"/proc/self/task/{threading.get_native_id()}/comm"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        os.write(descriptor, b"worker")
    finally:
        os.close(descriptor)
    return f"is {Path(name).read_text().strip()} now"


@NEEDS.add
def _cpp(_: str) -> str:
    import torch

    from passnet import kernels

    double = kernels.cpp(
        "void twice(const float* x, float* y, int64_t n) { for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i]; }",
        "void twice(const float* x, float* y, int64_t n)",
    )
    x, y = torch.ones(8), torch.zeros(8)
    double(x, y, 8)
    return f"compiled; sum {float(y.sum()):.0f}"


@NEEDS.add
def _inductor(device: str) -> str:
    import torch

    x = torch.ones(64, device=device)
    result = torch.compile(lambda x: torch.relu(x + 1) * 2)(x)
    return f"compiled; sum {float(result.sum()):.0f} on {device}"


@NEEDS.add
def _triton(device: str) -> str:
    import torch
    import triton
    import triton.language as tl

    if device == "cpu":
        from passnet._worker import triton_interpreter

        triton_interpreter.enable()
    source = Path("twice.py")
    source.write_text(_TRITON)
    namespace = {"triton": triton, "tl": tl}
    exec(compile(_TRITON, str(source.resolve()), "exec"), namespace)
    x = torch.ones(64, device=device)
    y = torch.zeros_like(x)
    namespace["twice"][(1,)](x, y, N=64)
    return f"sum {float(y.sum()):.0f} on {device}"


@NEEDS.add
def _program(name: str) -> str:
    """Returns the version of a program that workers may start."""
    run = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[0]


@NEEDS.add
def _python(_: str) -> str:
    return f"Python {sys.version.split()[0]}, process {os.getpid()}"
