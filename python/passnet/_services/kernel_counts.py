"""Counts the kernels that prefixes of a graph compile to.

``python -m passnet._services.kernel_counts`` answers lines ``{"id", "graph": WIRE, "inputs": [META, ...], "device", "prefixes": [k, ...]}``
with ``{"kernels": [n, ...], "compilations": c}``: the number of kernels of the first `k` ops for each
`k`, and the number of calls of the compiler.

On the CPU nothing is built or run: Inductor lowers and schedules the prefixes, but no C++ is generated. The count is the
number of loop nests after fusion plus the calls of library kernels, which are the kernels that a GPU would launch. All
prefixes are lowered together, as separate parts of one graph. Inductor fuses only operations that share a buffer, so each
part is scheduled as it would be alone. On CUDA each prefix is compiled and called, and the count is the number of launches
by any function that the profiler reports.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

from passnet._passes.wire import to_graph_module
from passnet._services.inputs import make_inputs
from passnet._services.serve import serve

# Functions of the runtime and the driver that start work on a device.
_LAUNCHES = ("LaunchKernel", "LaunchCooperativeKernel", "Memset", "GraphLaunch")
_WARM_UP = 3


def union(
    module: torch.fx.GraphModule, metas: list[dict[str, Any]], device: str, prefixes: Sequence[int]
) -> torch.fx.GraphModule:
    """Returns one graph with the first k ops for each k of `prefixes`. Each prefix has separate inputs.

    The graph returns the values that a prefix defines and later ops use. Lists of tensors are returned as separate items, and numbers
    are left out, because the compiler accepts only tensors. The metadata of each op has the position of its prefix.
    """
    values = _values(module, metas, device)
    body = [node for node in module.graph.nodes if node.op not in ("placeholder", "output")]
    graph, outputs = torch.fx.Graph(), []
    arguments = module.graph.find_nodes(op="placeholder")
    parts = [{node: graph.placeholder(f"{node.name}_{part}") for node in arguments} for part in range(len(prefixes))]
    for part, (copies, ops) in enumerate(zip(parts, prefixes, strict=True)):
        inside = dict.fromkeys(body[:ops])
        for node in inside:
            copies[node] = graph.node_copy(node, copies.__getitem__)
            # Tracing copies this entry to the nodes that replace this node.
            copies[node].meta["custom"] = {"prefix": part}
        live = [node for node in inside if any(user not in inside for user in node.users)]
        for node in live or body[ops - 1 : ops]:
            value = values[node]
            if isinstance(value, list | tuple):
                tensors = [index for index, item in enumerate(value) if isinstance(item, torch.Tensor)]
                outputs += [graph.call_function(operator.getitem, (copies[node], index)) for index in tensors]
            elif isinstance(value, torch.Tensor):
                outputs.append(copies[node])
    graph.output(tuple(outputs))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _values(module: torch.fx.GraphModule, metas: list[dict[str, Any]], device: str) -> dict[torch.fx.Node, Any]:
    """Returns the value of each node as fake tensors."""
    values: dict[torch.fx.Node, Any] = {}

    class Keeper(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            values[node] = super().run_node(node)
            return values[node]

    with FakeTensorMode(), torch.no_grad():
        Keeper(module, garbage_collect_values=False).run(*_empty(metas, device))
    return values


def _empty(metas: list[dict[str, Any]], device: str) -> list[torch.Tensor]:
    return [torch.empty(meta["shape"], dtype=getattr(torch, meta["dtype"]), device=device) for meta in metas]


def count_cpu(
    module: torch.fx.GraphModule, metas: list[dict[str, Any]], prefixes: Sequence[int]
) -> tuple[list[int], int]:
    """Returns the number of loop nests and library calls that Inductor schedules on the CPU for each prefix, and the number of its calls."""
    from torch._inductor import compile_fx, config

    owners: list[set[int]] = []

    def schedule(graph: torch.fx.GraphModule, inputs: list[Any], **_options: Any) -> Any:
        owners.extend(_scheduled(graph, inputs))

        def never(*_args: Any) -> Any:
            raise RuntimeError("a prefix is counted, not run")

        never._boxed_call = True
        return never

    together = union(module, metas, "cpu", prefixes)
    with FakeTensorMode():
        inputs = _empty(metas * len(prefixes), "cpu")
    with torch.no_grad(), config.patch(fx_graph_cache=False, compile_threads=1):
        compile_fx.compile_fx(together, inputs, inner_compile=schedule)
    if len(prefixes) == 1:
        return [len(owners)], 1
    if any(len(owner) != 1 for owner in owners):
        # A kernel belongs to several parts, such as one that makes seeds of random numbers. So each prefix is counted alone.
        alone = [count_cpu(module, metas, [ops])[0][0] for ops in prefixes]
        return alone, 1 + len(prefixes)
    counts = collections.Counter(part for owner in owners for part in owner)
    return [counts[part] for part in range(len(prefixes))], 1


def _scheduled(module: torch.fx.GraphModule, inputs: list[Any]) -> list[set[int]]:
    """Returns for each kernel the prefixes that its ops belong to.

    Does the same as Inductor's `codegen_and_compile` up to code generation.
    """
    from torch._dynamo.utils import detect_fake_mode
    from torch._inductor import compile_fx, ir
    from torch._inductor.debug import DebugContext
    from torch._inductor.graph import GraphLowering
    from torch._inductor.scheduler import NopKernelSchedulerNode
    from torch._inductor.virtualized import V

    mode = detect_fake_mode(inputs) or FakeTensorMode(allow_non_fake_inputs=True)
    with V.set_fake_mode(mode):
        compile_fx.view_to_reshape(module)
        # PyTorch 2.11 needs this here. With 2.15, it has been done before.
        if record := getattr(compile_fx, "_recursive_record_original_output_strides", None):
            record(module)
        compile_fx._recursive_post_grad_passes(module, is_inference=True)
        graph = GraphLowering(module, example_inputs=inputs, is_inference=True, shape_env=mode.shape_env)
        with V.set_graph_handler(graph), V.set_debug_handler(DebugContext()):
            graph.run(*inputs)
            graph.init_wrapper_code()
            graph._update_scheduler()
            nodes = graph.scheduler.nodes
    idle = (NopKernelSchedulerNode,)
    parts = (ir.MultiOutput,)
    kernels = [node for node in nodes if not isinstance(node, idle) and not isinstance(node.node, parts)]
    owners = [_owners(kernel) for kernel in kernels]
    pairs = list(zip(kernels, owners, strict=True))
    makers = {write.name: owner for kernel, owner in pairs for write in kernel.read_writes.writes}
    # A kernel that reads a value of another prefix belongs to both prefixes.
    return [
        owner.union(*(makers.get(read.name, set()) for read in kernel.read_writes.reads)) for kernel, owner in pairs
    ]


def _owners(kernel: Any) -> set[int]:
    origins = {origin for node in kernel.get_nodes() if node.node is not None for origin in node.node.get_origins()}
    custom = (origin.meta.get("custom", {}) for origin in origins)
    return {fields["prefix"] for fields in custom if "prefix" in fields}


def count_cuda(module: torch.fx.GraphModule, metas: list[dict[str, Any]]) -> int:
    """Returns the number of launches of the compiled prefix on the current CUDA device."""
    from torch.profiler import ProfilerActivity, profile

    torch._dynamo.reset()
    inputs = [value.cuda() for value in make_inputs(metas)]
    with torch.no_grad():
        compiled = torch.compile(module)
        for _ in range(_WARM_UP):
            compiled(*inputs)
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            compiled(*inputs)
            torch.cuda.synchronize()
    return sum(event.count for event in profiler.key_averages() if any(name in event.key for name in _LAUNCHES))


def count(module: torch.fx.GraphModule, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to one request about a graph."""
    metas, prefixes = request["inputs"], request["prefixes"]
    if request["device"] == "cuda":
        kernels, compilations = [], len(prefixes)
        for ops in prefixes:
            kernels.append(count_cuda(union(module, metas, "cuda", [ops]), metas))
    else:
        kernels, compilations = count_cpu(module, metas, prefixes)
    return {"kernels": kernels, "compilations": compilations}


class _Counter:
    """Answers requests. Keeps the last graph, because requests about other prefixes of it usually follow."""

    def __init__(self) -> None:
        self.known: Any = None
        self.module: torch.fx.GraphModule | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.module is None or self.known != request["id"]:
            self.known, self.module = request["id"], to_graph_module(request["graph"])
        return count(self.module, request)


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(_Counter().answer)
