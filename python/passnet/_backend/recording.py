"""CUDA graphs of repeated calls, to time the device without the host."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

# Calls in one graph: then starting the graph is a small part of its time.
REPEATS = 8


@contextlib.contextmanager
def own_workspaces() -> Iterator[None]:
    """Keeps workspaces of cuBLAS that are allocated in the pool of a graph out of the table that lives as long as the process."""
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
    clear()
    try:
        yield
    finally:
        clear()


def repeated(function: Callable[[], Any], device: torch.device) -> torch.cuda.CUDAGraph | None:
    """A CUDA graph of `REPEATS` calls; None where they cannot be recorded. Their results are lost."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.device(device), own_workspaces():
            function()
            torch.cuda.synchronize(device)
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                for _ in range(REPEATS):
                    function()
    except Exception:  # Any that an operator raises where it cannot be captured; the call itself has just run.
        torch.cuda.synchronize(device)
        return None
    return graph
