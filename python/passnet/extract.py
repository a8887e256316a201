"""``python -m passnet.extract SPEC... --out DIR``: captures models as GraphNet samples, one JSON line per model.

A line on standard output has ``spec``, ``status`` (``ok`` or ``failed``), ``folders`` (relative to DIR), ``ops`` (per
graph), ``seconds`` and, where it failed, ``reason``. Everything that models print goes to standard error. Each model is
built and run in a process of its own, so that a crash, a timeout or a lack of memory costs one model.

Exit status: 0 if every model was captured, 1 if one failed, 2 for wrong use.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from passnet import _zoo
from passnet._capture import capture
from passnet._sample import write_model


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="passnet extract", description="Capture models as GraphNet samples.")
    parser.add_argument(
        "specs", nargs="+", metavar="SPEC", help="torchvision:NAME, timm:NAME, transformers:TYPE, FILE.py:FUNCTION"
    )
    parser.add_argument("--out", type=Path, required=True, help="directory for the samples")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one model")
    parser.add_argument("--memory-gib", type=float, help="address space for one model")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and inputs")
    options = parser.parse_args(argv)
    failed = False
    for spec in options.specs:
        for line in _extract_spec(spec, options):
            failed |= line["status"] != "ok"
            print(json.dumps(line), flush=True)
    return int(failed)


def _extract_spec(spec: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    try:
        for recipe in _zoo.resolve(spec):
            yield _extract_recipe(recipe, options)
    except _zoo.SpecError as error:
        yield {"spec": spec, "status": "failed", "reason": str(error)}


def _extract_recipe(recipe: _zoo.Recipe, options: argparse.Namespace) -> dict[str, Any]:
    started = time.monotonic()
    # Fork: the parent has imported torch and run nothing, so that a child is ready at once.
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(recipe, options, sender))
    child.start()
    sender.close()
    result = _wait(child, receiver, options.timeout)
    return {"spec": recipe.spec, **result, "seconds": round(time.monotonic() - started, 3)}


def _wait(child: Any, receiver: multiprocessing.connection.Connection, timeout: float) -> dict[str, Any]:
    try:
        if not receiver.poll(timeout):
            return {"status": "failed", "reason": f"not done after {timeout:g} s"}
        return receiver.recv()
    except EOFError:
        child.join()
        code = child.exitcode
        cause = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return {"status": "failed", "reason": f"the process of the model ended: {cause}"}
    finally:
        child.kill()
        child.join()


def _child(recipe: _zoo.Recipe, options: argparse.Namespace, sender: multiprocessing.connection.Connection) -> None:
    os.dup2(2, 1)
    if options.memory_gib is not None:
        limit = int(options.memory_gib * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sender.send(_guarded(lambda: _run(recipe, options)))


def _run(recipe: _zoo.Recipe, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    torch.manual_seed(options.seed)
    model, args, kwargs = recipe.build()
    graphs = capture(model, args, kwargs)
    folders = write_model(options.out, recipe.name, [(graph.module, graph.inputs) for graph in graphs], recipe.metadata)
    relative = [str(folder.relative_to(options.out)) for folder in folders]
    return {"status": "ok", "folders": relative, "ops": [graph.ops for graph in graphs]}


def _guarded(job: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    # Models run arbitrary code of their libraries: whatever it raises is a failure of that model alone.
    try:
        return job()
    except Exception as error:
        traceback.print_exc()
        reason = next((line for line in str(error).splitlines() if line.strip()), "no message")
        return {"status": "failed", "reason": f"{type(error).__name__}: {reason}"}


if __name__ == "__main__":
    sys.exit(main())
