"""CUDA graphs of repeated calls, to measure the time of the device without that of the host."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

# Number of calls in one graph. With so many, the launch of the graph is a small part of its time.
REPEATS = 8


@contextlib.contextmanager
def own_workspaces() -> Iterator[None]:
    """Clears cuBLAS's table of workspaces before and after a recording.

    Otherwise workspaces in the memory pool of a graph would stay in that table, which lives as long as the process.
    """
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()


def repeated(function: Callable[[], Any], device: torch.device) -> torch.cuda.CUDAGraph | None:
    """Returns a CUDA graph of `REPEATS` calls; None if the calls cannot be recorded. The results of the calls are lost."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.device(device), own_workspaces():
            function()
            torch.cuda.synchronize(device)
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                for _ in range(REPEATS):
                    function()
    except Exception:  # An operator that cannot be captured may raise any exception.
        torch.cuda.synchronize(device)
        return None
    return graph
