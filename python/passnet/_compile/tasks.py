"""Writes the parts of a model that are worth the work of an author as tasks: a suite that the referee and agents can read.

A part is a segment of the captured graph (:mod:`passnet._compile.segments`). Equal segments, such as those of all layers, are one task.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.fx

from passnet._backend.kinds import kind_of
from passnet._backend.types import device_of
from passnet._capture.capture import close
from passnet._capture.sample import SampleError, TensorMeta, write_sample
from passnet._compile.capture import Captured
from passnet._compile.constants import fold_tables
from passnet._compile.graphs import refusal
from passnet._compile.rest import Timer
from passnet._compile.segments import Segment, is_library, last_name, results_of, segments_of
from passnet._summary import summary

# Segments whose operations outside of libraries take a smaller share of the time of the model gain too little.
_LEAST_SHARE = 0.01
# Largest number of tasks. The built-in author is measured on each of them.
_MOST_TASKS = 16
# Name of the one graph of a task.
_GRAPH = "000"
_NAMED = 3


@dataclass
class Part:
    """Equal segments of a graph."""

    segment: Segment
    """The first of them."""
    places: int
    eager_ns: float
    """Time of all these segments together in eager mode, in nanoseconds."""
    own_ns: float
    """The share of this time that is not that of library calls."""


def write_tasks(captured: Captured, folder: Path, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the suite, and returns the tasks and the reasons why parts are left out as plain data.

    `metadata` becomes part of the description of each sample. The folder is replaced.
    """
    with captured.undisturbed() as example:
        # As at the start of each compilation: passes are applied to the graph after this.
        fold_tables(captured, example)
    module = captured.module
    graphed = device_of(captured.example).type == "cuda" and refusal(captured) is None
    with captured.undisturbed() as example:
        timer = _Timer(module, (), device_of(example), graphed=graphed)
        timer.run(*example)
    total = sum(timer.times.values())
    left_out: dict[str, str] = {}
    chosen = _named(_worthwhile(_parts(module, timer, left_out), total))
    with captured.undisturbed() as example:
        reader = _Reader(module, {value for part in chosen.values() for value in part.segment.inputs})
        reader.run(*example)
    shutil.rmtree(folder, ignore_errors=True)
    tasks = []
    for name, part in chosen.items():
        try:
            _write(folder / name / _GRAPH, part.segment, reader.metas, metadata)
        except SampleError as error:
            left_out[name] = str(error)
            continue
        share = {"eager_ns": part.eager_ns, "own_ns": part.own_ns, "share": part.eager_ns / total}
        tasks.append({"id": name, "ops": part.segment.operations, "places": part.places, **share})
    if tasks:
        (folder / "suite.json").write_text(json.dumps(_suite(tasks), indent=1) + "\n")
    return {"total_ns": total, "tasks": tasks, "left_out": left_out}


def _suite(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "name": "model",
        "version": "",
        "split": "eval",
        "description": "Parts of a model that `passnet optimize` makes faster.",
        "tasks": [{"id": task["id"], "ops": task["ops"], "graphs": [_GRAPH]} for task in tasks],
    }


class _Timer(Timer):
    """Also notes the kind of each value."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kinds: dict[torch.fx.Node, Any] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        if node.op != "output":
            self.kinds[node] = kind_of(result) if isinstance(result, torch.Tensor) else None
        return result


class _Reader(torch.fx.Interpreter):
    """Runs a graph and describes the values that segments read."""

    def __init__(self, module: torch.fx.GraphModule, wanted: set[torch.fx.Node]) -> None:
        super().__init__(module)
        self.wanted = wanted
        self.metas: dict[torch.fx.Node, TensorMeta | SampleError] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        if node in self.wanted:
            try:
                self.metas[node] = TensorMeta.measure(node.name, result)
            except SampleError as error:
                self.metas[node] = error
        return result


def _parts(module: torch.fx.GraphModule, timer: _Timer, left_out: dict[str, str]) -> list[Part]:
    """Returns the different segments of a graph. Notes the reasons why others are no tasks in `left_out`, by their operations."""
    parts: dict[Any, Part] = {}
    for segment in segments_of(module.graph):
        results = results_of(segment.nodes, set(segment.nodes))
        own = sum(timer.times.get(node, 0.0) for node in segment.nodes if not is_library(node))
        time = sum(timer.times.get(node, 0.0) for node in segment.nodes)
        text = segment.text()
        if not results or not own:
            continue
        if text is None:
            left_out["-".join(segment.operations[:_NAMED])] = "it calls functions of other libraries than PyTorch"
            continue
        if any(timer.kinds.get(value) is None for value in [*segment.inputs, *results]):
            left_out["-".join(segment.operations[:_NAMED])] = "it reads or returns a value that is no tensor"
            continue
        key = text, *(timer.kinds[value] for value in segment.inputs)
        part = parts.setdefault(key, Part(segment, 0, 0.0, 0.0))
        part.places += 1
        part.eager_ns += time
        part.own_ns += own
    return list(parts.values())


def _worthwhile(parts: Sequence[Part], total: float) -> list[Part]:
    """Returns the parts that may be made faster, those that take the most time outside of libraries first."""
    found = [part for part in parts if part.own_ns >= _LEAST_SHARE * total]
    return sorted(found, key=lambda part: -part.own_ns)[:_MOST_TASKS]


def _named(parts: Sequence[Part]) -> dict[str, Part]:
    """Returns the parts by names of tasks, such as `01-layer_norm`."""
    named = {}
    for number, part in enumerate(parts, 1):
        nodes = sorted(part.segment.nodes, key=is_library)
        operations = list(dict.fromkeys(map(last_name, nodes)))
        text = re.sub(r"[^a-z0-9_-]", "", "-".join(name.strip("_") for name in operations[:_NAMED]).lower())
        named[f"{number:02}-{text}".rstrip("-")] = part
    return named


def _write(
    folder: Path,
    segment: Segment,
    metas: Mapping[torch.fx.Node, TensorMeta | SampleError],
    metadata: Mapping[str, Any],
) -> None:
    described = []
    for value in segment.inputs:
        meta = metas[value]
        if isinstance(meta, SampleError):
            raise meta
        described.append(meta)
    try:
        # Without values: a segment reads no attributes.
        graph = close(segment.module, ()).module.graph
        write_sample(folder, graph, described, metadata)
    except SampleError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except Exception as error:
        raise SampleError(summary(error)) from error
