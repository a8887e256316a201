"""How many kernels a prefix of a graph compiles to.

``python -m passnet._prefix`` answers lines ``{"id", "graph": WIRE, "inputs": [META, ...], "device", "prefix": k}`` with
``{"kernels": [...]}`` for the first `k` ops: for each kernel the first op that it computes, null where the compiler does not
tell (on CUDA).

On the CPU nothing is compiled or run: Inductor lowers and schedules the prefix, and what is counted are the loop nests
that are left after fusion and the calls of library kernels, which is what a GPU would launch. C++ is neither written nor
built, so that a prefix costs tens of milliseconds. On CUDA the prefix is compiled and called, and what is counted are the
launches that the profiler sees, by whatever function they were made.
"""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.fx

from passnet import _inputs, _wire

# What starts work on a device, whichever function of runtime or driver it is.
_LAUNCHES = ("LaunchKernel", "LaunchCooperativeKernel", "Memset", "GraphLaunch")
_WARM_UP = 3


def prefix(module: torch.fx.GraphModule, ops: int) -> torch.fx.GraphModule:
    """The first `ops` ops; it returns what they define and the rest uses."""
    graph, copies = torch.fx.Graph(), {}
    body = _body(module)[:ops]
    inside = set(body)
    for node in module.graph.nodes:
        if node.op == "placeholder" or node in inside:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    live = [node for node in body if any(user not in inside for user in node.users)]
    graph.output(tuple(copies[node] for node in live or body[-1:]))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def kernels_cpu(module: torch.fx.GraphModule, metas: list[dict[str, Any]]) -> list[int | None]:
    """Loop nests and library calls that Inductor schedules for the CPU: of each the first op that it computes, if known.

    A kernel that computes what several ops have in common counts for the first of them.
    """
    from torch._inductor import compile_fx, config
    from torch._subclasses.fake_tensor import FakeTensorMode

    kernels: list[int | None] = []

    def schedule(graph: torch.fx.GraphModule, inputs: list[Any], **_options: Any) -> Any:
        kernels.extend(_scheduled(graph, inputs))

        def never(*_args: Any) -> Any:
            raise RuntimeError("a prefix is counted, not run")

        never._boxed_call = True
        return never

    for index, node in enumerate(_body(module)):
        # Tracing copies this to whatever the node becomes.
        node.meta["custom"] = {"op": index}
    with FakeTensorMode(), torch.no_grad():
        inputs = [torch.empty(meta["shape"], dtype=getattr(torch, meta["dtype"])) for meta in metas]
        _return_tensors(module, module(*inputs))
    with torch.no_grad(), config.patch(fx_graph_cache=False, compile_threads=1):
        compile_fx.compile_fx(module, inputs, inner_compile=schedule)
    return kernels


def _return_tensors(module: torch.fx.GraphModule, outputs: Sequence[Any]) -> None:
    """Has the graph return the items of a list of tensors one by one, and no numbers: the compiler takes nothing else."""
    last = next(node for node in module.graph.nodes if node.op == "output")
    returned = []
    with module.graph.inserting_before(last):
        for node, value in zip(last.args[0], outputs, strict=True):
            if isinstance(value, list | tuple):
                tensors = [index for index, item in enumerate(value) if isinstance(item, torch.Tensor)]
                returned += [module.graph.call_function(operator.getitem, (node, index)) for index in tensors]
            elif isinstance(value, torch.Tensor):
                returned.append(node)
    last.args = (tuple(returned),)
    module.recompile()


def _body(module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    return [node for node in module.graph.nodes if node.op not in ("placeholder", "output")]


def _scheduled(module: torch.fx.GraphModule, inputs: list[Any]) -> list[int | None]:
    """As Inductor's own `codegen_and_compile`, up to the point where code would be written."""
    from torch._dynamo.utils import detect_fake_mode
    from torch._inductor import compile_fx, ir
    from torch._inductor.debug import DebugContext
    from torch._inductor.graph import GraphLowering
    from torch._inductor.scheduler import NopKernelSchedulerNode
    from torch._inductor.virtualized import V
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = detect_fake_mode(inputs) or FakeTensorMode(allow_non_fake_inputs=True)
    with V.set_fake_mode(mode):
        compile_fx.view_to_reshape(module)
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
    return [_first_op(kernel, graph.name_to_buffer) for kernel in kernels]


def _first_op(kernel: Any, buffers: dict[str, Any]) -> int | None:
    """The first op of those that a kernel computes; what it reads was computed by others, but counts as origin too."""
    origins = {origin for node in kernel.get_nodes() if node.node is not None for origin in node.node.get_origins()}
    written = {access.name for access in kernel.read_writes.writes}
    read = {access.name for access in kernel.read_writes.reads} - written
    foreign: set[torch.fx.Node] = set()
    waiting = [buffers[name].get_origin_node() for name in read if name in buffers]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in foreign:
            foreign.add(node)
            waiting += node.all_input_nodes
    own = (origins - foreign) or origins
    # Views compute nothing; a kernel that reads through one begins with the op behind it.
    own = {node for node in own if not _is_view(node)} or own
    return min((node.meta["custom"]["op"] for node in own if "op" in node.meta.get("custom", {})), default=None)


def _is_view(node: torch.fx.Node) -> bool:
    target = node.target
    is_view = target in (operator.getitem, torch.ops.aten._unsafe_view.default)
    return is_view or (isinstance(target, torch._ops.OpOverload) and target.is_view)


def count_cuda(module: torch.fx.GraphModule, metas: list[dict[str, Any]]) -> int:
    """Launches of the compiled prefix on the current CUDA device."""
    from torch.profiler import ProfilerActivity, profile

    torch._dynamo.reset()
    inputs = [value.cuda() for value in _inputs.make(metas)]
    with torch.no_grad():
        compiled = torch.compile(module)
        for _ in range(_WARM_UP):
            compiled(*inputs)
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            compiled(*inputs)
            torch.cuda.synchronize()
    return sum(event.count for event in profiler.key_averages() if any(name in event.key for name in _LAUNCHES))


def main() -> None:
    """Serves standard input until it ends. A graph stays at hand for the other prefixes of it."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    known, module = None, None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if known != request["id"] or module is None:
                known, module = request["id"], _wire.to_graph_module(request["graph"])
            part = prefix(module, request["prefix"])
            if request["device"] == "cuda":
                reply = {"kernels": [None] * count_cuda(part, request["inputs"])}
            else:
                reply = {"kernels": kernels_cpu(part, request["inputs"])}
        except Exception as error:
            # A compiler may raise anything; it is the fault of this prefix.
            reason = next((line for line in str(error).splitlines() if line.strip()), "no message")
            reply = {"error": f"{type(error).__name__}: {reason}"}
        channel.write(json.dumps(reply) + "\n")
        channel.flush()


if __name__ == "__main__":
    main()
