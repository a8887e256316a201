"""``python -m passnet.extract SPEC... --out DIR``: captures models as GraphNet samples.

Standard output is JSON lines: first ``{"event": "plan", "models": N, "skipped": [SPEC, ...]}``, then ``{"event": "model", ...}`` for each model with
``spec``, ``status`` (docs/reference/extract.md lists them), ``reason``, ``folders`` (relative to DIR), ``ops`` (per graph), ``nodes``,
``seconds``, ``cpu_seconds`` and ``peak_bytes``. With ``--skip``, the specifications on standard input, one per line, are left out. The
output of a model goes to ``DIR/.logs``, and is kept if the model fails.

Exit status: 0 if every model was captured, 1 if one failed, 2 for wrong use, 3 without PyTorch.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passnet._capture import pool
from passnet._interrupt import raise_on_interrupt
from passnet._required import torch_problem

if TYPE_CHECKING:
    from passnet import _zoo


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    if (problem := torch_problem()) is not None:
        print(f"error: {problem}", file=sys.stderr)
        return 3
    skipped = set(sys.stdin.read().splitlines()) if options.skip else set()
    failed = False
    for line in _lines(options, skipped):
        failed |= line.get("status", "ok") != "ok"
        print(json.dumps(line), flush=True)
    return int(failed)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="passnet extract", description="Capture models as GraphNet samples.")
    parser.add_argument("specs", nargs="+", metavar="SPEC", help="torchvision:NAME, timm:NAME, transformers:TYPE, ...")
    parser.add_argument("--out", type=Path, required=True, help="directory for the samples")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one model")
    parser.add_argument("--memory-gib", type=float, default=5.0, help="memory for one model")
    parser.add_argument("--max-parameters", type=float, default=5e8, help="reduce transformers models that have more")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="models at a time")
    parser.add_argument("--sample", type=int, help="only so many of the models, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights, inputs and --sample")
    parser.add_argument("--verify", choices=("read", "shapes"), default="shapes", help="how samples are checked")
    parser.add_argument("--skip", action="store_true", help="read specifications to skip from standard input")
    return parser.parse_args(argv)


def _lines(options: argparse.Namespace, skipped: set[str]) -> Iterator[dict[str, Any]]:
    recipes, unknown = _plan(options)
    todo = [recipe for recipe in recipes if recipe.spec not in skipped]
    total = len(recipes) + len(unknown)
    yield {"event": "plan", "models": total, "skipped": [recipe.spec for recipe in recipes if recipe.spec in skipped]}
    yield from unknown
    if not todo:
        return
    _warm_up(todo)
    raise_on_interrupt()
    logs = options.out / ".logs"
    logs.mkdir(parents=True, exist_ok=True)
    jobs = (
        pool.Job(recipe, functools.partial(_extract, recipe, options), logs / f"{recipe.name.replace('/', '_')}.txt")
        for recipe in todo
    )
    for outcome in pool.run(jobs, options.jobs, options.timeout, int(options.memory_gib * 2**30)):
        yield _line(outcome, logs)


def _plan(options: argparse.Namespace) -> tuple[list[_zoo.Recipe], list[dict[str, Any]]]:
    """Returns the models, each once, and a line of output for each specification that names no model."""
    # Imported after the check in `main`, whose message names an interpreter without PyTorch.
    from passnet import _zoo

    recipes: dict[str, _zoo.Recipe] = {}
    unknown: list[dict[str, Any]] = []
    for spec, unreadable in _zoo.listed(options.specs):
        try:
            if unreadable is not None:
                raise unreadable
            for recipe in _zoo.resolve(spec):
                recipes.setdefault(recipe.spec, recipe)
        except _zoo.SpecError as error:
            status = "missing_package" if isinstance(error, _zoo.MissingLibraryError) else "unknown_model"
            unknown.append({"event": "model", "spec": spec, "status": status, "reason": str(error)})
    chosen = _zoo.with_own_folders(recipes.values(), options.out / "extract.jsonl")
    if options.sample is not None and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(sorted(chosen, key=lambda recipe: recipe.spec), options.sample)
    return chosen, unknown


def _warm_up(recipes: Sequence[_zoo.Recipe]) -> None:
    """Imports the modules that models need and traces a small function, so that no fork repeats this. Uses one thread, as forks do."""
    # Models are captured on the CPU. Dynamo asks for the current accelerator, which initialises CUDA. A fork of a process with
    # CUDA cannot trace: on a machine with a GPU, every capture failed.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    from passnet._capture import capture, deferred, replay

    torch.set_num_threads(1)
    with deferred.DeferredInit():
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    graphs = capture.capture(model, (torch.randn(1, 3, 8, 8),))
    replay.expected_outputs(graphs[0].module.graph)
    if any(recipe.spec.startswith("transformers:") for recipe in recipes):
        import transformers

        transformers.logging.set_verbosity_error()


def _extract(recipe: _zoo.Recipe, options: argparse.Namespace) -> dict[str, Any]:
    from passnet._capture import job

    return job.extract(
        recipe, options.out, options.seed, options.max_parameters, check_shapes=options.verify == "shapes"
    )


def _line(outcome: pool.Outcome, logs: Path) -> dict[str, Any]:
    recipe: _zoo.Recipe = outcome.key
    value = outcome.value if outcome.status == "done" else {"status": outcome.status, "reason": outcome.reason}
    if value["status"] == "ok":
        (logs / f"{recipe.name.replace('/', '_')}.txt").unlink(missing_ok=True)
    line = {"event": "model", "spec": recipe.spec, **value}
    return {**line, "seconds": outcome.seconds, "cpu_seconds": outcome.cpu_seconds, "peak_bytes": outcome.peak_bytes}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # Models in progress are lost; samples that are written are kept.
        sys.exit(130)
