"""Texts that define what code computes. Equal texts mean equal code, in all processes with the same versions of PassNet and PyTorch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.fx

from passnet._backend.sources import MODULE_PREFIX
from passnet._passes.load import Pass
from passnet._passes.rewrite import only_result
from passnet._passes.wire import Encoder, WireError, target_name

# Operators of these namespaces come with PyTorch.
_OWN_OPERATORS = ("aten", "prims")
# Attribute of a pass of a directory: the path of the directory.
DIRECTORY = "directory"


def text_of_pass(rule: Pass) -> str | None:
    """Returns the text of a pass of the author; None for any other pass, because it can import code from anywhere."""
    origin: Pass = vars(rule).get("origin", rule)
    return origin.digest if origin.replacement_args.__module__.startswith(MODULE_PREFIX) else None


def author_of_pass(rule: Pass) -> str:
    """Returns the author of a pass as it is named on command lines: `fuse`, or `dir:PATH`."""
    directory = vars(vars(rule).get("origin", rule)).get(DIRECTORY)
    return "fuse" if directory is None else f"dir:{directory}"


def text_of_graph(module: torch.fx.GraphModule, passes: Sequence[Pass] = ()) -> str | None:
    """Returns the text of a graph that calls functions of PyTorch and replacements of passes.

    Returns None if it has parts that a text does not define: functions of other libraries, constants that are objects, subgraphs.
    """
    names = {rule.replacement: text_of_pass(rule) for rule in passes}
    # A graph may also call the function of a pass itself, with other arguments.
    direct = {vars(rule)["origin"].replacement: text_of_pass(rule) for rule in passes if "origin" in vars(rule)}
    names |= {function: text and f"direct {text}" for function, text in direct.items()}
    encoder = Encoder()
    lines: list[Any] = []
    try:
        for node in module.graph.nodes:
            args = [encoder.encode(arg) for arg in node.args]
            kwargs = [[key, encoder.encode(arg)] for key, arg in node.kwargs.items()]
            lines.append([node.op, _target(node, names), args, kwargs])
            encoder.define(node)
    except (WireError, TypeError):
        # Functions that cannot be hashed are not those of PyTorch.
        return None
    return json.dumps(lines)


def _target(node: torch.fx.Node, names: Mapping[Callable[..., Any], str | None]) -> str:
    """Returns the name of what a node calls. Raises `WireError` if a name does not define it."""
    target = node.target
    if node.op in ("placeholder", "output"):
        return ""
    if node.op == "call_method":
        return str(target)
    if node.op != "call_function":
        raise WireError(f"`{node.name}` refers to an object of the module")
    if target is only_result:
        return "only_result"
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        if str(target).partition(".")[0] not in _OWN_OPERATORS:
            raise WireError(f"`{target}` is an operator of another library")
    elif isinstance(target, torch._ops.HigherOrderOperator):
        raise WireError(f"`{target}` calls graphs")
    elif (text := names.get(target)) is not None:
        return text
    elif target in names:
        raise WireError(f"the code of `{node.name}` is not known")
    return target_name(target)
