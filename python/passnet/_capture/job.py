"""Captures one model, from its recipe to samples on disk. Runs in a separate process."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from passnet._capture import replay
from passnet._capture.capture import CapturedGraph, CaptureError, capture, parts
from passnet._capture.deferred import DeferredInit
from passnet._capture.sample import SampleError, custom_operators, write_model
from passnet._capture.step import capture_step
from passnet._summary import summary
from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, SpecError


def extract(recipe: Recipe, out: Path, seed: int, parameters: float, *, check_shapes: bool) -> dict[str, Any]:
    """Returns the output line of this model: `status`, and `reason` or the fields of what was captured."""
    torch.manual_seed(seed)
    weights = DeferredInit()
    try:
        with weights:
            built = recipe.build(BuildOptions(parameters))
    except ImportError as error:
        return _failed("missing_package", error)
    except SpecError as error:
        return _failed("no_recipe", error)
    except (Exception, SystemExit) as error:
        return _failed("build_failed", error)
    return _first_success(recipe, built, weights, out, seed, check_shapes)


def _first_success(
    recipe: Recipe, built: BuiltModel, weights: DeferredInit, out: Path, seed: int, check_shapes: bool
) -> dict[str, Any]:
    """Returns the outcome of the first call that can be captured; if none can be, the outcome of the first call."""
    first: dict[str, Any] | None = None
    calls = iter(built.calls)
    while True:
        try:
            call = next(calls, None)
        except (Exception, SystemExit) as error:
            return first or _failed("no_recipe", error)
        if call is None:
            return first or _failed("no_recipe", SpecError("the recipe has no inputs for the model"))
        outcome = _capture(recipe, built, call, weights)
        if isinstance(outcome, list):
            metadata = {
                "parameters": _size(built.model),
                **recipe.metadata,
                **built.metadata,
                "inputs": call.label,
                "seed": seed,
            }
            outcome = _write(recipe, outcome, weights, out, metadata, check_shapes)
        if outcome["status"] == "ok":
            return {**outcome, "inputs": call.label}
        first = first or outcome


def _size(model: Any) -> int | None:
    """Returns the number of elements of the model's parameters; None if the model is a function."""
    return sum(value.numel() for value in model.parameters()) if isinstance(model, torch.nn.Module) else None


def _capture(
    recipe: Recipe, built: BuiltModel, call: Call, weights: DeferredInit
) -> list[CapturedGraph] | dict[str, Any]:
    try:
        if recipe.next_call is not None:
            weights.materialise()
            call = recipe.next_call(built.model, call)
        return (capture_step if recipe.trains else capture)(
            built.model, call.args, call.kwargs, before_run=weights.materialise
        )
    except SpecError as error:
        return _failed("no_recipe", error)
    except (CaptureError, torch._dynamo.exc.TorchDynamoException) as error:
        return _failed("capture_failed", error)
    except ImportError as error:
        return _failed("missing_package", error)
    except (Exception, SystemExit) as error:
        return _failed("run_failed", error)


def _write(
    recipe: Recipe,
    graphs: Sequence[CapturedGraph],
    weights: DeferredInit,
    out: Path,
    metadata: dict[str, Any],
    check_shapes: bool,
) -> dict[str, Any]:
    try:
        folders = write_model(out, recipe.name, parts(recipe.name, graphs), metadata, weights.sample_of)
    except SampleError as error:
        return _failed("format_failed", error)
    checked = 0
    if check_shapes:
        try:
            for folder, graph in zip(folders, graphs, strict=True):
                checked += replay.check(folder, replay.expected_outputs(graph.module.graph))
        except replay.ReplayError as error:
            return _failed("replay_failed", error)
    return {
        "status": "ok",
        "folders": [str(folder.relative_to(out)) for folder in folders],
        "ops": [graph.ops for graph in graphs],
        "nodes": [len(graph.module.graph.nodes) for graph in graphs],
        "replayed": checked,
        "parameters": metadata.get("parameters"),
        "reduced": metadata.get("reduced", {}),
        "left_out": dict(graphs[0].left_out),
        "custom_operators": sorted({name for graph in graphs for name in custom_operators(graph.module.graph)}),
    }


def _failed(status: str, error: BaseException) -> dict[str, Any]:
    traceback.print_exception(error)
    # The first line of Dynamo's messages is a heading, so the reason is in a later line.
    explanation = next(
        (line for line in map(str.strip, str(error).splitlines()) if line.startswith("Explanation:")), None
    )
    reason = f"{type(error).__name__}: {explanation}" if explanation else summary(error)
    return {"status": status, "reason": reason[:500]}
