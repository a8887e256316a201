"""Calls in a graph that change what the calls after them mean: autocast, `vmap` and other transforms, inference mode, gradients."""

from __future__ import annotations

import torch
import torch.fx


def autocast_devices() -> list[str]:
    """The types of devices for which autocast is enabled."""
    return [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]


def in_other_modes(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The calls that run in another mode than the first of the graph, those that enter and leave it among them.

    The types of their arguments do not determine what they compute: autocast computes in another type, and under `vmap` a tensor
    has a dimension that its shape does not show.
    """
    found: set[torch.fx.Node] = set()
    depth, wants_gradient = 0, False
    for node in graph.nodes:
        change = _change(node)
        # A call that enters counts as inside, and so does the one that leaves: neither may be moved or
        # replaced.
        depth += max(change, 0)
        if _name(node) == "_set_grad_enabled":
            wants_gradient = node.args[0] is not False
        if depth or wants_gradient:
            found.add(node)
        depth += min(change, 0)
    return found


def enters_mode(graph: torch.fx.Graph) -> bool:
    """Whether a graph enters a mode, which it leaves only if none of its calls raises an exception."""
    return any(_change(node) for node in graph.nodes)


def _change(node: torch.fx.Node) -> int:
    """1 for a call that enters a mode, -1 for one that leaves it, else 0."""
    name = _name(node)
    if name.endswith("_increment_nesting") or name.startswith("_enter_"):
        return 1
    return -1 if name.endswith("_decrement_nesting") or name.startswith("_exit_") else 0


def _name(node: torch.fx.Node) -> str:
    return str(getattr(node.target, "__name__", "")) if node.op == "call_function" else ""
