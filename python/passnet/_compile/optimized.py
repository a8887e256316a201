"""The part of `passnet.optimize` that needs PyTorch: builds, compiles and times the model, and writes the pass library."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from passnet import _progress
from passnet._backend.stopwatch import compare_times
from passnet._compile import page
from passnet._compile.authored import keeps_any, note_authors, passes_of, read_authored
from passnet._compile.capture import capture
from passnet._compile.compiled import Compiled
from passnet._compile.errors import DeviceError, NotCapturedError, UsageError
from passnet._compile.library import write
from passnet._compile.options import Options
from passnet._compile.tasks import write_tasks
from passnet._passes.errors import PassError
from passnet._summary import summary

_CALLS = 30
_BUDGET_S = 20.0
_MEASURED = ("model", "device", "threads", "median_ns", "compile_s", "peak_bytes", "compiled", "authored")
# Calls of each side before its times are measured. The modes of `torch.compile` with CUDA graphs record in the second call.
_FIRST_CALLS = 2


def optimize(options: argparse.Namespace) -> int:
    """Makes one model faster, prints the result as JSON, and returns the exit status.

    Raises :class:`UsageError` or :class:`DeviceError`.
    """
    device = _device(options.device)
    authored = read_authored(options.authored)
    model, args, kwargs = _build(options.spec, device)
    given = {"passnet": [*options.passes, *passes_of(authored)]}
    if authored is not None and given["passnet"] != options.passes:
        given[f"passnet without {authored['author']}"] = options.passes
    try:
        compiled = {name: _compiled(model, passes, options.author, device) for name, passes in given.items()}
    except PassError as error:
        raise UsageError(str(error)) from error
    with torch.no_grad():
        _try(options.spec, model, args, kwargs)
        sides, started, failures = _sides(model, compiled, options.modes, (args, kwargs), device)
        _progress.show(f"time: calling {', '.join(sides)} in turns")
        times = _times(sides, (args, kwargs), device)
        best = _best(authored, compiled, (args, kwargs), device)
    report = compiled[best].report()
    result = {
        "schema_version": 1,
        "model": options.spec,
        "device": _device_name(device),
        "threads": torch.get_num_threads(),
        "median_ns": times,
        "compile_s": {name: start.seconds - _report_s(compiled.get(name)) for name, start in started.items()},
        "peak_bytes": {name: start.peak_bytes for name, start in started.items() if start.peak_bytes is not None},
        "failures": failures,
        "compiled": report.as_dict(),
    }
    if authored is not None:
        result["authored"] = note_authors(authored, result["compiled"], is_used=best == "passnet")
        for key in ("median_ns", "compile_s", "peak_bytes"):
            result[key] = _renamed(result[key], best, authored["author"])
    measured = {key: result[key] for key in _MEASURED if key in result}
    result["passes"] = write(options.out, report.specialisations, given[best], measured)
    if options.report is not None:
        options.report.write_text(page.report(result), encoding="utf-8")
    print(json.dumps(result))
    times = result["median_ns"]
    return int(times["passnet"] > times["eager"] or not result["passes"])


def _compiled(model: Any, passes: Sequence[str], author: str, device: torch.device) -> Compiled:
    graphs: Literal["auto", False] = "auto" if device.type != "cpu" else False
    options = Options.of(passes, author=None if author == "none" else author, cuda_graphs=graphs, times_rest=True)
    return Compiled(model, options)


def _report_s(compiled: Compiled | None) -> float:
    """Returns the time of the measurements for the report, which are not part of a compilation."""
    known = [] if compiled is None else compiled.report().specialisations
    return sum(one.rest.seconds for one in known if one.rest is not None)


def _best(
    authored: dict[str, Any] | None, compiled: dict[str, Compiled], call: tuple[Any, Any], device: torch.device
) -> str:
    """Returns the name of the compiled model to keep: the first, or the one without the passes of a language model if that is faster.

    These passes can be faster than PyTorch in each region and still make the whole model slower: the built-in author may have larger
    regions there, or another layout of images.
    """
    first, *others = compiled
    if not others or authored is None or not keeps_any(authored, compiled[first].report().as_dict()):
        return first
    args, kwargs = call
    without, every = (lambda: compiled[others[0]](*args, **kwargs)), (lambda: compiled[first](*args, **kwargs))
    return others[0] if compare_times(without, every, device).loses else first


def _renamed(values: dict[str, Any], best: str, author: str) -> dict[str, Any]:
    """Returns values by side, in which the compiled model that is kept is `passnet`."""
    names = {} if best == "passnet" else {"passnet": f"passnet with {author}", best: "passnet"}
    return {names.get(name, name): value for name, value in values.items()}


def write_model_tasks(options: argparse.Namespace, origin: dict[str, str]) -> int:
    """Writes the parts of the model that are worth the work of an author as tasks, and a description of them as `tasks.json`.

    `origin` becomes part of the description.

    Raises :class:`UsageError` or :class:`DeviceError`.
    """
    device = _device(options.device)
    model, args, kwargs = _build(options.spec, device)
    metadata = {"source": "user", "model_name": options.spec}
    with torch.no_grad():
        _try(options.spec, model, args, kwargs)
        _progress.show("extract: timing the operations of the model, and writing tasks")
        try:
            found = write_tasks(capture(model, args, kwargs), options.tasks / "suite", metadata)
        except NotCapturedError as error:
            found = {"total_ns": 0.0, "tasks": [], "left_out": {"the whole model": str(error)}}
    result = {"schema_version": 1, **origin, "threads": torch.get_num_threads(), **found}
    text = json.dumps(result, indent=1)
    # Renamed into place: a process that is killed while it writes leaves no file that the next one would continue from.
    partial = options.tasks / "tasks.json.partial"
    partial.write_text(text + "\n")
    partial.rename(options.tasks / "tasks.json")
    print(text)
    return 0


def _device(text: str) -> torch.device:
    try:
        device = torch.device(text)
    except RuntimeError as error:
        raise UsageError(f"`{text}` is not a device; use cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"the device `{text}` is not supported; use cpu, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        found = f"PyTorch finds {count} GPU{'' if count == 1 else 's'}" if count else "PyTorch finds no GPU"
        raise DeviceError(f"there is no device `{text}`: {found}; `passnet doctor` says more")
    return device


def _place(error: BaseException, path: str) -> str:
    """Returns `file:line` of the last line of the user's file that an exception passed, or the file alone."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == Path(path).absolute() and frame.lineno]
    return f"{path}:{lines[-1]}" if lines else path


def _build(spec: str, device: torch.device) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    path, _, name = spec.rpartition(":")
    file = Path(path).absolute()
    # A file such as `random.py` must not replace a module that other code imports.
    module_name = file.stem if file.stem not in sys.modules else f"passnet_model_{file.stem}"
    found = importlib.util.spec_from_file_location(module_name, file)
    if found is None or found.loader is None:
        raise UsageError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[module_name] = module
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{_place(error, path)}: cannot be imported: {summary(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"{path}: there is no function `{name}`")
    try:
        built = function()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{_place(error, path)}: `{name}` failed: {summary(error)}") from error
    match built:
        case (model, tuple() | list() as args):
            kwargs: dict[str, Any] = {}
        case (model, tuple() | list() as args, dict() as kwargs):
            pass
        case other:
            raise UsageError(
                f"{path}: `{name}` returned a `{type(other).__name__}`, not (model, args) or (model, args, kwargs)"
            )
    if not callable(model):
        raise UsageError(
            f"{path}: the model that `{name}` returned is a `{type(model).__name__}`, which is not callable"
        )
    if isinstance(model, torch.nn.Module):
        model = model.eval().to(device)
    args, kwargs = torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda value: value.to(device), (tuple(args), kwargs)
    )
    return model, args, kwargs


def _try(spec: str, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Calls the model once without PassNet. If this fails, the specification is wrong, not PassNet."""
    path = spec.rpartition(":")[0]
    try:
        model(*args, **kwargs)
    except Exception as error:
        raise UsageError(f"{_place(error, path)}: the model fails for its arguments: {summary(error)}") from error


@dataclass
class Start:
    """The first calls of a side."""

    seconds: float
    """Time of these calls, in which the side is compiled."""
    peak_bytes: int | None
    """Device memory that a later call needs, with what the side keeps between calls, but without the model; None on the CPU."""


def _sides(
    model: Callable[..., Any],
    compiled: Mapping[str, Callable[..., Any]],
    modes: Sequence[str],
    call: tuple[Any, Any],
    device: torch.device,
) -> tuple[dict[str, Callable[..., Any]], dict[str, Start], dict[str, str]]:
    """Returns the functions to time, their first calls, and the reasons why others are missing, all by name."""
    args, kwargs = call
    sides: dict[str, Callable[..., Any]] = {"eager": model, **compiled}
    sides |= {f"torch.compile {mode}": torch.compile(model, mode=mode) for mode in modes}
    started: dict[str, Start] = {}
    failures: dict[str, str] = {}
    for name, function in list(sides.items()):
        if name != "eager" and name not in compiled:
            _progress.show(f"compile: {name}")
        try:
            started[name] = _start(lambda: function(*args, **kwargs), device)  # noqa: B023
        except Exception as error:
            if name == "eager" or name in compiled:
                raise
            failures[name] = summary(error)
            del sides[name]
    return sides, started, failures


def _start(call: Callable[[], Any], device: torch.device) -> Start:
    """Makes the first calls of a side."""
    before = _reserved(device)
    begin = time.perf_counter()
    for _ in range(_FIRST_CALLS):
        call()
    _wait(device)
    seconds = time.perf_counter() - begin
    if device.type != "cuda":
        return Start(seconds, None)
    kept = _reserved(device) - before
    torch.cuda.reset_peak_memory_stats(device)
    allocated = torch.cuda.memory_allocated(device)
    call()
    _wait(device)
    return Start(seconds, max(kept, 0) + torch.cuda.max_memory_allocated(device) - allocated)


def _reserved(device: torch.device) -> int:
    """Returns the bytes that PyTorch holds on a CUDA device for tensors and CUDA graphs, without memory that is kept for later."""
    if device.type != "cuda":
        return 0
    # Results of earlier calls may be part of reference cycles.
    gc.collect()
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved(device)


def _times(sides: dict[str, Callable[..., Any]], call: tuple[Any, Any], device: torch.device) -> dict[str, float]:
    """Returns the median time of a call of each side in nanoseconds. The sides are called in turns."""
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


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
