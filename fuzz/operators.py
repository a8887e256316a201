"""Compares the built-in author's kernels with PyTorch on the samples that PyTorch tests its own operators with.

    PYTHONPATH=python python fuzz/operators.py [--operators TEXT] [--samples 12] [--seconds 600]

Each sample of `torch.testing._internal.common_methods_invocations.op_db` becomes a graph of one call between two others, so that the
author has something to fuse. The author's passes are applied, and each call of one is compared with the operations that it
replaces. Prints a line of JSON for each sample that differs, then a summary. Functions and methods are tried, in several types.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from passnet._backend.author import NotAuthoredError, author_passes
from passnet._backend.regions import Judge, direct
from passnet._passes.rewrite import rewrite

TYPES = (torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.float16, torch.int32, torch.uint8, torch.float64)
# Samples with more elements take long and show nothing else.
MOST_ELEMENTS = 1 << 16
# The function takes the tensor second.
OTHER_ORDER = ("polygamma",)


def graph_of(target: Callable[..., Any] | str, args: tuple, kwargs: dict[str, Any]) -> tuple[torch.fx.Graph, list]:
    """A graph of one call and of one that takes its result, with the types that Dynamo would note, and the tensors that it is given."""
    graph, values = torch.fx.Graph(), []

    def placeholder(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        node = graph.placeholder(f"x{len(values)}")
        node.meta["example_value"] = leaf
        values.append(leaf)
        return node

    args, kwargs = pytree.tree_map(placeholder, (args, kwargs))
    first = next((node for node in graph.nodes if node.meta["example_value"].dtype == torch.float32), None)
    if first is not None and args and first is args[0]:
        # Something before the call, too.
        doubled = graph.call_function(torch.mul, (first, 2.0))
        doubled.meta["example_value"] = values[0] * 2.0
        args = (doubled, *args[1:])
    call = (
        graph.call_method(target, args, kwargs)
        if isinstance(target, str)
        else graph.call_function(target, args, kwargs)
    )
    function = getattr(torch.Tensor, target) if isinstance(target, str) else target

    def value(leaf: Any) -> Any:
        return leaf.meta["example_value"] if isinstance(leaf, torch.fx.Node) else leaf

    found = function(*pytree.tree_map(value, args), **pytree.tree_map(value, kwargs))
    call.meta["example_value"] = found
    result = call
    if isinstance(found, torch.Tensor) and found.dtype.is_floating_point:
        result = graph.call_function(torch.add, (call, 1.0))
        result.meta["example_value"] = found + 1.0
    graph.output((result,))
    return graph, values


def faults(graph: torch.fx.Graph, values: list) -> tuple[int, list[str]]:
    """The number of the author's passes for a graph, and how their results differ."""
    authored = author_passes(graph)
    if authored.faults:
        return 0, list(authored.faults)
    if not authored.passes:
        return 0, []
    passes = [direct(rule) for rule in authored.passes]
    rewritten = rewrite(torch.fx.GraphModule({}, graph), passes)
    judge = Judge(rewritten.module, passes, timed=False, aliases=False)
    judge.run(*values)
    return len(passes), [region.reason for region in judge.regions.values() if not region.kept]


def samples(most: int, text: str) -> Iterator[tuple[str, str, Callable[..., Any] | str, tuple, dict[str, Any]]]:
    """Names of operators, types, targets and arguments."""
    for info in op_db:
        if text not in info.name:
            continue
        for dtype in TYPES:
            if dtype not in info.dtypes:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for number, sample in enumerate(info.sample_inputs("cpu", dtype)):
                    if number >= most:
                        break
                    args = (sample.input, *sample.args)
                    tensors = [
                        leaf for leaf in pytree.tree_leaves((args, sample.kwargs)) if isinstance(leaf, torch.Tensor)
                    ]
                    if any(leaf.layout != torch.strided for leaf in tensors):
                        continue
                    if not tensors or sum(leaf.numel() for leaf in tensors) > MOST_ELEMENTS:
                        continue
                    yield info.name, str(dtype), info.op, args, sample.kwargs
                    if (
                        isinstance(sample.input, torch.Tensor)
                        and hasattr(torch.Tensor, info.name)
                        and info.name not in OTHER_ORDER
                    ):
                        yield info.name, str(dtype), info.name, args, sample.kwargs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", default="", help="only operators whose name contains this")
    parser.add_argument("--samples", type=int, default=12, help="of each operator and type")
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts: Counter[str] = Counter()
    written: Counter[str] = Counter()
    end = time.monotonic() + options.seconds
    for name, dtype, target, args, kwargs in samples(options.samples, options.operators):
        if time.monotonic() > end:
            counts["cut off"] = 1
            break
        counts["samples"] += 1
        try:
            torch.manual_seed(0)
            graph, values = graph_of(target, args, kwargs)
        except Exception:  # A sample that this form of the call does not take.
            counts["not run"] += 1
            continue
        try:
            passes, found = faults(graph, values)
        except NotAuthoredError:
            counts["not given"] += 1
            continue
        except Exception as error:
            passes, found = 0, [f"{type(error).__name__}: {error}"]
        counts["with passes"] += bool(passes)
        written[name] += passes
        if found:
            counts["different"] += 1
            call = str(next(node for node in reversed(graph.nodes) if node.meta and node.target is not torch.add))
            shapes = [tuple(value.shape) for value in values]
            print(
                json.dumps(
                    {
                        "operator": name,
                        "dtype": dtype,
                        "target": str(target),
                        "call": call,
                        "shapes": shapes,
                        "kwargs": str(kwargs)[:200],
                        "args": str(args[1:])[:200],
                        "faults": found,
                    }
                ),
                flush=True,
            )
    print(json.dumps({"summary": counts, "operators": sorted(name for name, count in written.items() if count)}))


if __name__ == "__main__":
    main()
