"""Finds the types of all values of graphs by a run on tensors without content, and the canonical form of their calls.

`python -m passnet._services.propagate` reads one graph per line, `{"graph": WIRE, "inputs": [{"shape", "dtype"}, ...], "device": D}`,
and writes one line for each: `{"values": [TYPE, ...], "canonical": CALLS}` with the types of inputs and nodes in order. `CALLS` is
`{"graph": WIRE, "places": [[PLACE, ...], ...]}`: the graph in canonical form, and the places of the numbers of each call in it
(`passnet._passes.canonical`). The type of a tensor is
`{"shape", "stride", "dtype"}`, of a tensor in host memory if `D` is not `cpu` `{"host": {...}}`, of a list `{"list": [...]}`, and of an
integer `{"int": n}`. The type of any other value, and of all values after a failed call, is `null`. `D` is `cpu` or `cuda`; the
machine does not need the device.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

from passnet._passes.canonical import canonical_calls
from passnet._passes.wire import to_graph, to_graph_module
from passnet._services.serve import serve

_BATCH_NORMS = frozenset((torch.nn.functional.batch_norm, torch.batch_norm))


def propagate(wire: dict[str, Any], inputs: list[dict[str, Any]], device: str) -> list[Any]:
    """Returns the type of each value on a device for contiguous inputs."""
    module = to_graph_module(wire)
    nodes = [node for node in module.graph.nodes if node.op != "output"]
    types: dict[str, Any] = {}

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            if node.op == "call_method" and node.target in ("reshape", "view"):
                args, kwargs = self.fetch_args_kwargs_from_env(node)
                result = _with_own_strides(result, node.target, args, kwargs)
            elif node.target in _BATCH_NORMS and device == "cpu":
                # Also if the argument is permuted. Fake tensors keep the strides of the argument.
                result = _in_memory_format(result, result)
            elif node.target is torch.nn.functional.interpolate and device == "cuda":
                # Also with few channels, where PyTorch computes another layout and copies. Fake tensors keep that other layout.
                args, _ = self.fetch_args_kwargs_from_env(node)
                result = _in_memory_format(result, args[0]) if args else result
            elif node.target in ("roll", torch.roll) and device == "cpu":
                result = _as_rolled(result, *self.fetch_args_kwargs_from_env(node))
            types[node.name] = _type(result, device)
            return result

    with FakeTensorMode(), torch.no_grad():
        values = [torch.empty(meta["shape"], dtype=getattr(torch, meta["dtype"]), device=device) for meta in inputs]
        try:
            Recorder(module, garbage_collect_values=False).run(*values)
        except Exception as error:
            # Types that depend on content stay unknown, and so do all later types. The author does not change those operations.
            print(f"propagation ends early: {error}", file=sys.stderr)
    return [types.get(node.name) for node in nodes]


def _with_own_strides(result: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the tensor with the strides that PyTorch's C++ code gives to dimensions of extent 1.

    Strides of fake tensors come from Python code and may differ. They affect the memory format of values computed from the tensor,
    such as results of `interpolate`.
    """
    if not all(isinstance(value, torch.Tensor) for value in (result, args[0])) or 1 not in result.shape:
        return result
    with unset_fake_temporarily():
        plain = torch.empty_strided(args[0].shape, args[0].stride(), dtype=args[0].dtype, device="meta")
        own = getattr(plain, method)(*args[1:], **kwargs)
        strides = own.stride()
    return result if strides == result.stride() else result.as_strided(result.shape, strides)


def _in_memory_format(result: Any, of: Any) -> Any:
    """Returns a tensor with the strides that the memory format of another with as many dimensions gives it."""
    if not all(isinstance(value, torch.Tensor) for value in (result, of)):
        return result
    with unset_fake_temporarily():
        plain = torch.empty_strided(of.shape, of.stride(), device="meta")
        memory_format = torch._prims_common.suggest_memory_format(plain)
        strides = torch.empty(result.shape, device="meta", memory_format=memory_format).stride()
    return _with_strides(result, strides)


def _with_strides(result: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    return result if strides == result.stride() else result.new_empty_strided(result.shape, strides)


def _as_rolled(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the tensor with the strides of a `roll` on a CPU, which joins two parts for each dimension. Fake tensors are contiguous."""
    given = dict(zip(("input", "shifts", "dims"), args, strict=False)) | kwargs
    of, shifts, dims = given.get("input"), given.get("shifts"), given.get("dims", ())
    shifts, dims = ([value] if isinstance(value, int) else value for value in (shifts, dims))
    if not all(isinstance(value, torch.Tensor) for value in (result, of)) or not dims or len(shifts) != len(dims):
        return result
    with unset_fake_temporarily():
        plain = torch.empty_strided(of.shape, of.stride(), device="meta")
        for shift, dim in zip(shifts, dims, strict=True):
            extent = plain.shape[dim]
            start = -shift % extent if extent else 0
            plain = torch.cat([plain.narrow(dim, start, extent - start), plain.narrow(dim, 0, start)], dim)
        strides = plain.stride()
    return _with_strides(result, strides)


def _type(value: Any, device: str) -> Any:
    match value:
        case torch.Tensor() if value.device.type in (device, "cpu"):
            dtype = str(value.dtype).removeprefix("torch.")
            own = {"shape": list(value.shape), "stride": list(value.stride()), "dtype": dtype}
            return own if value.device.type == device else {"host": own}
        case bool() | None:
            return None
        case int():
            return {"int": value}
        case list() | tuple():
            return {"list": [_type(element, device) for element in value]}
    return None


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    values = propagate(request["graph"], request["inputs"], request["device"])
    return {"values": values, "canonical": canonical_calls(to_graph(request["graph"]))}


if __name__ == "__main__":
    serve(_answer)
