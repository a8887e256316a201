"""Calls in a graph that change the mode of later calls: autocast, `vmap` and other transforms, inference mode, gradients."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
import torch.fx
from torch._dynamo.symbolic_convert import InstructionTranslator


def autocast_devices() -> list[str]:
    """Returns the types of devices for which autocast is enabled."""
    return [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]


class ModesKept:
    """A context that restores the modes of the calling thread after an exception: gradients, autocast and transforms.

    A captured graph leaves its modes by calls. An exception skips these calls, and gradients would stay disabled in the user's program.
    """

    def __enter__(self) -> None:
        self.wants_gradient = torch.is_grad_enabled()
        self.autocast = [
            (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)) for device in ("cpu", "cuda")
        ]
        self.caches_casts = torch.is_autocast_cache_enabled()
        self.nesting, self.transforms = _nesting(), _transforms()

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is None:
            return
        if torch.is_grad_enabled() != self.wants_gradient:
            torch.set_grad_enabled(self.wants_gradient)
        for device, is_enabled, dtype in self.autocast:
            torch.set_autocast_enabled(device, is_enabled)
            torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(self.caches_casts)
        if (count := _nesting() - self.nesting) > 0:
            for _ in range(count):
                torch.autocast_decrement_nesting()
            if not self.nesting:
                torch.clear_autocast_cache()
        for _ in range(_transforms() - self.transforms):
            torch._C._functorch.pop_dynamic_layer_stack()


def _nesting() -> int:
    """Returns the number of autocast contexts around the caller."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _transforms() -> int:
    """Returns the number of transforms of `torch.func` around the caller."""
    return len(torch._C._functorch.get_interpreter_stack() or ())


def keeps_modes(run: Callable[..., Any], graph: torch.fx.Graph) -> Callable[..., Any]:
    """Returns a function that runs a graph and restores the modes of the caller after an exception.

    Call it while Dynamo captures the graph.
    """
    if _has_traced_modes():
        run = _without_functions(run)
    if not enters_mode(graph) and not any(_name(node) == "_set_grad_enabled" for node in graph.nodes):
        return run

    def call(*values: Any) -> Any:
        with ModesKept():
            return run(*values)

    return call


def _has_traced_modes() -> bool:
    """Returns whether the captured call is under a `TorchFunctionMode`, such as a default device.

    The graph already has the calls that such a mode makes.
    """
    try:
        state = getattr(InstructionTranslator.current_tx(), "symbolic_torch_function_state", None)
    except AttributeError:
        # No call is being captured.
        return False
    return bool(getattr(state, "mode_stack", ()))


def _without_functions(run: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that runs a graph outside each `TorchFunctionMode`, which would change the calls of the graph a second time."""

    def call(*values: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return run(*values)

    return call


def in_other_modes(graph: torch.fx.Graph, *, gradients: bool = True) -> set[torch.fx.Node]:
    """Returns the calls that run in another mode than the first call of the graph, with the calls that enter and leave the mode.

    The types of their arguments do not determine their results: autocast computes in another dtype, and under `vmap` a tensor has
    a dimension that its shape does not show. With `gradients`, calls that follow a change to enabled gradients are among them.
    """
    found: set[torch.fx.Node] = set()
    depth, wants_gradient = 0, False
    for node in graph.nodes:
        change = _change(node)
        # The calls that enter and leave a mode count as inside: they must not be moved or replaced.
        depth += max(change, 0)
        if _name(node) == "_set_grad_enabled":
            wants_gradient = node.args[0] is not False
        if depth or (gradients and wants_gradient):
            found.add(node)
        depth += min(change, 0)
    return found


def enters_mode(graph: torch.fx.Graph) -> bool:
    """Returns whether a graph enters a mode. The graph leaves the mode only if none of its calls raises an exception."""
    return any(_change(node) for node in graph.nodes)


def enters_inference_mode(graph: torch.fx.Graph) -> bool:
    """Returns whether a graph enters or leaves inference mode."""
    return any(_name(node) == "_enter_inference_mode" for node in graph.nodes)


def changes_mode(node: torch.fx.Node) -> bool:
    """Returns whether a call enters or leaves a mode."""
    return _change(node) != 0


def _change(node: torch.fx.Node) -> int:
    """Returns 1 for a call that enters a mode, -1 for a call that leaves a mode, else 0."""
    name = _name(node)
    if name.endswith("_increment_nesting") or name.startswith("_enter_"):
        return 1
    return -1 if name.endswith("_decrement_nesting") or name.startswith("_exit_") else 0


def _name(node: torch.fx.Node) -> str:
    return str(getattr(node.target, "__name__", "")) if node.op == "call_function" else ""
