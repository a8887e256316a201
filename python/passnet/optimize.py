"""``python -m passnet.optimize MODULE.py:BUILD --out DIR``: makes one model faster, and says by how much.

``BUILD`` is a function without arguments that returns a model and the arguments of a call, ``(model, args)`` or ``(model, args,
kwargs)``. The model is compiled by ``passnet.compile``, each region is compared with PyTorch and timed, and the whole model is timed against
PyTorch and the modes of ``torch.compile`` in turns. The passes that are kept become a pass library, which ``passnet.load`` applies elsewhere.

Standard output is one JSON object. Exit status: 0 if the model is not slower than PyTorch, 1 if it is, or if no region was kept,
2 for wrong use.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from passnet._compile import page
from passnet._compile.api import compile
from passnet._compile.library import write
from passnet._summary import summary

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs")
_CALLS = 30
_BUDGET_S = 20.0


class UsageError(Exception):
    """The specification names no model."""


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    try:
        model, args, kwargs = _build(options.spec, torch.device(options.device))
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    compiled = compile(model, passes=options.passes, cuda_graphs="auto" if options.device != "cpu" else False)
    with torch.no_grad():
        sides, failures = _sides(model, compiled, options.modes, (args, kwargs))
        times = _times(sides, (args, kwargs), torch.device(options.device))
    report = compiled.report()
    result = {
        "schema_version": 1,
        "model": options.spec,
        "device": _device_name(options.device),
        "threads": torch.get_num_threads(),
        "median_ns": times,
        "failures": failures,
        "compiled": report.as_dict(),
    }
    result["passes"] = write(options.out, report.specialisations, {key: result[key] for key in _MEASURED})
    if options.report is not None:
        options.report.write_text(page.report(result), encoding="utf-8")
    print(json.dumps(result))
    return int(times["passnet"] > times["eager"] or not result["passes"])


_MEASURED = ("model", "device", "threads", "median_ns", "compiled")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="passnet optimize", description="Make one model faster, and say by how much.")
    parser.add_argument("spec", metavar="MODULE.py:BUILD", help="function that returns a model and its arguments")
    parser.add_argument("--out", type=Path, required=True, help="directory for the pass library")
    parser.add_argument("--device", default="cpu", help="device of the model and of tensors among the arguments")
    parser.add_argument("--passes", action="append", default=[], help="pass directory that is applied first")
    parser.add_argument("--report", type=Path, help="write a page to this file")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=["default"], help="modes of torch.compile to time")
    return parser.parse_args(argv)


def _build(spec: str, device: torch.device) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    path, _, name = spec.rpartition(":")
    file = Path(path)
    if not path:
        raise UsageError(f"`{spec}` names no function of a file; write it as `module.py:build`")
    if not file.is_file():
        raise UsageError(f"{path}: there is no such file")
    found = importlib.util.spec_from_file_location(file.stem, file)
    if found is None or found.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"`{path}` has no function `{name}`")
    match function():
        case (model, tuple() | list() as args):
            kwargs: dict[str, Any] = {}
        case (model, tuple() | list() as args, dict() as kwargs):
            pass
        case other:
            raise UsageError(
                f"`{name}` returned a `{type(other).__name__}`, not (model, args) or (model, args, kwargs)"
            )
    if isinstance(model, torch.nn.Module):
        model = model.eval().to(device)
    args, kwargs = torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda value: value.to(device), (tuple(args), kwargs)
    )
    return model, args, kwargs


def _sides(
    model: Callable[..., Any], compiled: Callable[..., Any], modes: Sequence[str], call: tuple[Any, Any]
) -> tuple[dict[str, Callable[..., Any]], dict[str, str]]:
    """The functions that are timed, each called twice already, and why others are missing."""
    args, kwargs = call
    sides: dict[str, Callable[..., Any]] = {"eager": model, "passnet": compiled}
    sides |= {f"torch.compile {mode}": torch.compile(model, mode=mode) for mode in modes}
    failures: dict[str, str] = {}
    for name, function in list(sides.items()):
        try:
            for _ in range(2):
                function(*args, **kwargs)
        except Exception as error:
            if name in ("eager", "passnet"):
                raise
            failures[name] = summary(error)
            del sides[name]
    return sides, failures


def _times(sides: dict[str, Callable[..., Any]], call: tuple[Any, Any], device: torch.device) -> dict[str, float]:
    """Median nanoseconds of a call of each side, called in turns."""
    args, kwargs = call
    samples: dict[str, list[int]] = {name: [] for name in sides}
    started = time.monotonic()
    for number in range(_CALLS):
        for name, function in sides.items():
            _wait(device)
            begin = time.perf_counter_ns()
            function(*args, **kwargs)
            _wait(device)
            samples[name].append(time.perf_counter_ns() - begin)
        if number >= 2 and time.monotonic() - started > _BUDGET_S:
            break
    return {name: statistics.median(values) for name, values in samples.items()}


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


if __name__ == "__main__":
    sys.exit(main())
