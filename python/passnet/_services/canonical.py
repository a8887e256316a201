"""Rewrites the calls of graphs in canonical form, in which the matcher compares patterns with graphs.

`python -m passnet._services.canonical` reads one graph per line, `{"graph": WIRE}`, and writes one line for each: `{"graph": WIRE}` with
each call in canonical form (`passnet._passes.canonical`). A call of a function that this PyTorch does not have is not changed. No call
is run.
"""

from __future__ import annotations

import json
from typing import Any

import torch.fx

from passnet._passes.canonical import CanonicalGraph
from passnet._passes.wire import WireError, decode, resolve
from passnet._services.serve import serve


def canonical(wire: dict[str, Any]) -> dict[str, Any]:
    """Returns a graph of the calls in canonical form. Their arguments refer to inputs only."""
    graph = torch.fx.Graph()
    values = [graph.placeholder(name) for name in wire["inputs"]]
    known = []
    for index, call in enumerate(wire["nodes"]):
        try:
            target = call["target"] if call["op"] == "call_method" else resolve(call["target"])
            args = tuple(decode(arg, values) for arg in call["args"])
            kwargs = {key: decode(arg, values) for key, arg in call["kwargs"]}
        except (WireError, AttributeError, RuntimeError):  # a constant or device that this PyTorch does not have
            continue
        graph.create_node(call["op"], target, args, kwargs, name=call["name"])
        known.append(index)
    graph.output(())
    nodes = list(wire["nodes"])
    for index, form in zip(known, json.loads(CanonicalGraph(graph).text)["nodes"], strict=True):
        nodes[index] = {**form, "name": nodes[index]["name"]}
    return {**wire, "nodes": nodes}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    return {"graph": canonical(request["graph"])}


if __name__ == "__main__":
    serve(_answer)
