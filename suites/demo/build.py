"""Builds the demo suite again: ``PYTHONPATH=python python suites/demo/build.py``, in some minutes.

Needs Python 3.11, torch, torchvision, timm and transformers.

The models of ``models/`` are captured at the shapes and types that ``tasks.toml`` names. In every captured graph the
operation sequences of the tasks are looked up; each occurrence is cut out, with the inputs that it had when the model
ran, and becomes a graph of its task unless it

- has the same text and input shapes as one that is there already,
- moves less than 4 KiB or more than 8 MiB between inputs and outputs,
- writes to its inputs, gives values that are not finite, or returns nothing but an input,
- takes more than 5 ms in eager mode on one thread.

Of the candidates a task keeps `GRAPHS_PER_TASK`, spread over types, models and shapes. Weights and inputs are drawn from
a fixed seed; the values written down are statistics of the tensors that really reached the subgraph.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomllib
import torch

from passnet._capture.capture import CapturedGraph, capture
from passnet._capture.sample import TensorMeta, model_source, write_sample

HERE = Path(__file__).resolve().parent
GRAPHS_PER_TASK = 5
BYTES = range(4 << 10, 8 << 20)
SECONDS = 5e-3
HALF_TYPES = (torch.float16, torch.bfloat16)
SEED = 0
VERSION = "1"


@dataclasses.dataclass(frozen=True)
class Capture:
    """One model at one shape in one type."""

    model: str
    batch: int
    size: int
    dtype: torch.dtype

    def __str__(self) -> str:
        return f"{self.model} batch {self.batch} size {self.size} {self.dtype}"

    def run(self) -> list[CapturedGraph]:
        torch.manual_seed(SEED)
        module, function = self.model.split(".")
        model, args, kwargs = (
            *getattr(importlib.import_module(f"models.{module}"), function)(self.batch, self.size),
            {},
        )[:3]
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, self._cast, (args, kwargs))
        disturb(model)
        return capture(model.to(self.dtype), args, kwargs)

    def _cast(self, value: torch.Tensor) -> torch.Tensor:
        return value.to(self.dtype) if value.is_floating_point() else value


@dataclasses.dataclass(frozen=True)
class Task:
    id: str
    ops: tuple[str, ...]
    models: tuple[str, ...] | None


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A subgraph that may become a graph of a task."""

    capture: Capture
    graph: torch.fx.Graph
    metas: list[TensorMeta]
    graph_index: int
    start: int
    end: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for subgraphs that compute the same on inputs of the same shapes and types."""
        return model_source(self.graph), *((tuple(meta.shape), meta.dtype) for meta in self.metas)


def disturb(model: torch.nn.Module) -> None:
    """Gives random values to the parameters and buffers that are constant in an untrained model.

    Scales of one and shifts of zero, as normalisations begin with, could not tell a right pass from one that leaves them
    out.
    """
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_floating_point() and tensor.numel() > 1 and tensor.min() == tensor.max():
            noise = torch.rand_like(tensor) if name.endswith("running_var") else torch.randn_like(tensor)
            tensor.data.add_(noise, alpha=0.25)


def original_name(node: torch.fx.Node) -> str:
    """The name in the captured `model.py`: of an input that of the parameter, which FX prints in lower case."""
    return node.target if node.op == "placeholder" else node.name


def op_name(node: torch.fx.Node) -> str:
    return f"Tensor.{node.target}" if node.op == "call_method" else node.target.__name__


def occurrences(names: list[str], ops: tuple[str, ...]) -> Iterator[int]:
    """Starts of the non-overlapping runs of `ops` in `names`."""
    start = 0
    while start + len(ops) <= len(names):
        if tuple(names[start : start + len(ops)]) == ops:
            yield start
            start += len(ops)
        else:
            start += 1


def cut(nodes: list[torch.fx.Node]) -> tuple[torch.fx.Graph, list[torch.fx.Node]]:
    """The graph of consecutive `nodes`, with neutral names, and the nodes of the whole graph that feed it.

    Inputs and outputs are in the order of their names in the whole graph, as in the public tasks.
    """
    inside = set(nodes)
    feeds = sorted({arg for node in nodes for arg in node.all_input_nodes if arg not in inside}, key=original_name)
    results = sorted((node for node in nodes if any(user not in inside for user in node.users)), key=original_name)
    graph = torch.fx.Graph()
    names = {node: graph.create_node("placeholder", f"in_{i}", name=f"in_{i}") for i, node in enumerate(feeds)}
    for i, node in enumerate(nodes):
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), names.__getitem__)
        names[node] = graph.create_node(node.op, node.target, args, kwargs, name=f"tmp_{i}")
    graph.output(tuple(names[node] for node in results))
    return graph, feeds


class Slicer(torch.fx.Interpreter):
    """Runs a captured graph and, where a range begins, cuts it out with the values that reach it."""

    def __init__(self, captured: CapturedGraph, ranges: dict[int, list[tuple[Task, int]]]) -> None:
        super().__init__(captured.module)
        self.body = [node for node in self.module.graph.nodes if node.op not in ("placeholder", "output")]
        self.position = {node: index for index, node in enumerate(self.body)}
        self.ranges = ranges
        self.found: list[tuple[Task, torch.fx.Graph, list[TensorMeta], int, int]] = []

    def run_node(self, n: torch.fx.Node) -> Any:
        start = self.position.get(n, -1)
        for task, end in self.ranges.get(start, []):
            graph, feeds = cut(self.body[start:end])
            values = [self.env[node] for node in feeds]
            if acceptable(graph, values):
                pairs = enumerate(zip(feeds, values, strict=True))
                metas = [TensorMeta.measure(f"in_{i}", value, original_name(node)) for i, (node, value) in pairs]
                self.found.append((task, graph, metas, start, end))
        return super().run_node(n)


def acceptable(graph: torch.fx.Graph, values: list[Any]) -> bool:
    if not all(isinstance(value, torch.Tensor) for value in values) or not values:
        return False
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    # Graphs are evaluated on contiguous inputs.
    inputs = [value.clone(memory_format=torch.contiguous_format) for value in values]
    try:
        outputs = module(*inputs)
        again = module(*inputs)
    except RuntimeError:
        # A `view` that only the original strides allow, or an operation without a kernel for this type.
        return False
    if not all(type(output) is torch.Tensor for output in outputs):
        return False
    moved = sum(tensor.numel() * tensor.element_size() for tensor in (*inputs, *outputs))
    sound = (
        moved in BYTES
        and all(torch.equal(value, kept) for value, kept in zip(values, inputs, strict=True))
        and all(torch.equal(first, second) for first, second in zip(outputs, again, strict=True))
        and all(bool(torch.isfinite(output).all()) for output in outputs)
        and not any(output.data_ptr() == tensor.data_ptr() for output in outputs for tensor in inputs)
    )
    return sound and min(timed(module, inputs) for _ in range(3)) <= SECONDS


def timed(module: torch.nn.Module, inputs: list[torch.Tensor]) -> float:
    started = time.perf_counter()
    module(*inputs)
    return time.perf_counter() - started


def candidates(captures: list[Capture], tasks: list[Task]) -> dict[str, dict[tuple[Any, ...], Candidate]]:
    """For each task its distinct candidates, in the order in which they were found."""
    found: dict[str, dict[tuple[Any, ...], Candidate]] = {task.id: {} for task in tasks}
    for number, what in enumerate(captures, 1):
        print(f"[{number}/{len(captures)}] {what}", file=sys.stderr)
        try:
            graphs = what.run()
        except RuntimeError as error:
            print(f"    skipped: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        wanted = [task for task in tasks if task.models is None or what.model in task.models]
        for index, captured in enumerate(graphs):
            names = [op_name(n) for n in captured.module.graph.nodes if n.op not in ("placeholder", "output")]
            ranges: dict[int, list[tuple[Task, int]]] = {}
            for task in wanted:
                for start in occurrences(names, task.ops):
                    ranges.setdefault(start, []).append((task, start + len(task.ops)))
            if not ranges:
                continue
            slicer = Slicer(captured, ranges)
            slicer.run(*captured.inputs)
            for task, graph, metas, start, end in slicer.found:
                candidate = Candidate(what, graph, metas, index, start, end)
                found[task.id].setdefault(candidate.key, candidate)
    return found


def spread(pool: list[Candidate], count: int) -> list[Candidate]:
    """At most `count` of `pool`: repeatedly the one whose type, model, shape and text were taken least so far."""
    chosen: list[Candidate] = []

    def taken(candidate: Candidate) -> tuple[int, ...]:
        same = [
            (
                other.capture.dtype == candidate.capture.dtype,
                other.capture.model == candidate.capture.model,
                other.metas[0].shape == candidate.metas[0].shape,
                (other.capture.batch, other.capture.size) == (candidate.capture.batch, candidate.capture.size),
            )
            for other in chosen
        ]
        return sum(map(sum, same)), len(model_source(candidate.graph))

    pool = list(pool)
    while pool and len(chosen) < count:
        best = min(pool, key=taken)
        pool.remove(best)
        chosen.append(best)
    return sorted(
        chosen, key=lambda c: (c.capture.model, c.capture.batch, c.capture.size, str(c.capture.dtype), c.start)
    )


def write(folder: Path, candidate: Candidate) -> None:
    what = candidate.capture
    metadata = {
        "source": "passnet-demo",
        "model_name": what.model,
        "model_batch": what.batch,
        "model_size": what.size,
        "model_graph": candidate.graph_index,
        "op_range": [candidate.start, candidate.end],
        "dtype": str(what.dtype).removeprefix("torch."),
    }
    write_sample(folder, candidate.graph, candidate.metas, metadata)


def main() -> None:
    # One thread: results that do not depend on the machine's cores, and times that compare with those of the referee.
    torch.set_num_threads(1)
    spec = tomllib.loads((HERE / "tasks.toml").read_text())
    tasks = [
        Task(task["id"], tuple(task["ops"].split()), tuple(task["models"]) if "models" in task else None)
        for task in spec["task"]
    ]
    captures = []
    for group in spec["capture"]:
        for model in group["models"]:
            captures += [Capture(model, *shape, torch.float32) for shape in group["float32"]]
            captures += [Capture(model, *shape, dtype) for dtype in HALF_TYPES for shape in group["half"]]
    with torch.no_grad():
        found = candidates(captures, tasks)
    entries = []
    for task in tasks:
        folder = HERE / task.id
        shutil.rmtree(folder, ignore_errors=True)
        chosen = spread(list(found[task.id].values()), GRAPHS_PER_TASK)
        print(f"{task.id}: {len(chosen)} of {len(found[task.id])} graphs", file=sys.stderr)
        names = [f"{index:03}" for index in range(len(chosen))]
        for name, candidate in zip(names, chosen, strict=True):
            write(folder / name, candidate)
        if names:
            entries.append({"id": task.id, "ops": task.ops, "graphs": names})
    suite = {
        "schema_version": 1,
        "name": "demo",
        "version": VERSION,
        "split": "eval",
        "description": spec["description"],
        "tasks": entries,
    }
    (HERE / "suite.json").write_text(json.dumps(suite, indent=1) + "\n")


if __name__ == "__main__":
    main()
