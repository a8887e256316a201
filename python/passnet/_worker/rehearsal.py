"""Work that a fork server does once so that no worker repeats it: fills tables of torch and initialises libraries."""

from __future__ import annotations

import os

import torch
import torch.fx

from passnet._passes import wire
from passnet._passes.canonical import CanonicalGraph
from passnet._passes.trace import trace_pattern
from passnet._worker.worker import Worker


def warm_up() -> None:
    """Fills tables of torch's functions and schemas, which takes tens of milliseconds. Computes nothing."""
    graph = trace_pattern(lambda x: torch.nn.functional.relu(x).sum(1))
    CanonicalGraph(graph)
    torch.fx.GraphModule(torch.nn.Module(), graph)


def rehearse() -> None:
    """Does once, on a small graph on the CPU, the work of every worker.

    The first time costs tens of milliseconds: pages that are shared with the fork server are copied, and libraries initialise
    themselves. It has no other effect. It starts no thread, because the worker may have to enter its sandbox later.
    """
    graph = trace_pattern(_rehearsed)
    worker = Worker()
    worker.load(wire.from_graph(graph), "cpu", 1, {"kind": "eager"})
    block = os.memfd_create("rehearsal", os.MFD_CLOEXEC)
    try:
        os.truncate(block, 4 * 64)
        layout = {"name": "x", "dtype": "float32", "shape": [1, 8, 8], "offset": 0, "nbytes": 4 * 64}
        worker.answer({"type": "inputs", "set": 0, "count": 1, "stride": 0, "tensors": [layout]}, block)
        _, outputs = worker.answer({"type": "call", "set": 0, "seed": 0, "watch": {}}, None)
        if outputs is not None:
            os.close(outputs)
        worker.answer({"type": "pools", "pools": [{"window": layout, "windows": 1}]}, block)
        calls = {"warmup": 1, "trials": 1, "calls": 1, "windows": [{"start": 0, "step": 0}]}
        worker.answer({"type": "time", **calls, "cache": "warm", "overwrite": True, "restore": False, "seed": 0}, None)
    finally:
        os.close(block)


def rehearse_compiler() -> None:
    """Compiles a small graph for the CPU, as a worker would.

    The first time takes two seconds longer than later ones: patterns of graph passes are traced, and the compiler and the
    instruction set of the CPU are queried.
    """
    module = torch.fx.GraphModule(torch.nn.Module(), trace_pattern(_rehearsed))
    with torch.no_grad():
        torch.compile(module, backend="inductor", dynamic=False)(torch.ones(1, 8, 8))
    torch._dynamo.reset()
    # Inductor keeps a path into a cache folder that other workers may not have.
    if remembered := getattr(torch._inductor.codecache, "_precompile_header", None):
        remembered.cache_clear()


def _rehearsed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes a small graph with operators of the kinds that most graphs consist of."""
    functional = torch.nn.functional
    y = functional.gelu(functional.layer_norm(functional.linear(x, x[0]), (8,)))
    z = functional.conv2d(x.unsqueeze(0), x.unsqueeze(0)).mean(1)
    return torch.cat([y, x.transpose(1, 2) + 1.0], dim=-1).softmax(-1), functional.relu(z)
