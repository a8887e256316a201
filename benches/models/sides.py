"""Sides of a comparison of whole models: eager, `passnet.compile`, the modes of `torch.compile`; called in turns."""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

import passnet
from models import build
from passnet._compile.compiled import Compiled

Side = Callable[..., Any]
CALLS = 40


def parse(models: Sequence[str], sides: Sequence[str], **options: str) -> argparse.Namespace:
    """The command line of a comparison, with `options` and their defaults; threads are set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(models))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--sides", nargs="*", default=sides)
    for name, default in options.items():
        parser.add_argument(f"--{name}", default=default)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    return arguments


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def leaves(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def error(found: Any, expected: Any) -> float:
    """The largest difference relative to the largest value."""
    return max(
        ((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-30)).item()
        for a, b in zip(leaves(found), leaves(expected), strict=True)
    )


def compare(models: Sequence[str], device: str, sides: Sequence[str], until: float) -> None:
    """Measures models until the time is over, each in a process of its own, and says geometric means against eager.

    In one process the memory of earlier models, such as pools of CUDA graphs, would count as that of later ones.
    """
    ratios: dict[str, list[float]] = {}
    for name in models:
        left = until - time.monotonic()
        if left < 15:
            break
        command = [sys.executable, "-m", "models.sides", name, device, str(left), *sides]
        environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
        lines: list[dict[str, Any]] = []
        try:
            child = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=left, check=False, env=environment
            )
            text, failed = child.stdout, child.returncode
        except subprocess.TimeoutExpired as error:
            text, failed = (error.stdout or b"").decode(), "time is over"
        for line in text.splitlines():
            print(line, flush=True)
            lines.append(json.loads(line))
        if failed:
            say(model=name, error=f"its process ended with {failed}")
        times = {line["side"]: line["us"] for line in lines if "us" in line}
        for side, value in times.items():
            ratios.setdefault(side, []).append(math.log(times["eager"] / value))
    means = {side: round(math.exp(statistics.fmean(logs)), 3) for side, logs in ratios.items()}
    say(summary=means, models={side: len(logs) for side, logs in ratios.items()})


def side_of(model: torch.nn.Module, side: str) -> Side:
    match side:
        case "passnet":
            return passnet.compile(model)
        case "passnet frozen":
            return passnet.compile(model, freeze=True)
        case "passnet frozen+graphs":
            return passnet.compile(model, freeze=True, cuda_graphs=True)
        case "passnet+graphs":
            return passnet.compile(model, cuda_graphs=True)
    return torch.compile(model, mode=side)


def measure(name: str, device: str, sides: Sequence[str], until: float) -> dict[str, float]:
    """Median microseconds of a model by side; says each."""
    torch._dynamo.reset()
    model, inputs = build(name, device)
    with torch.no_grad():
        expected = model(*inputs)
        exact = _exact(name, device, inputs)
        ready: dict[str, Side] = {"eager": model}
        seconds: dict[str, float] = {"eager": 0.0}
        # PyTorch allocates memory for itself at the first call, which counts for no side.
        model(*inputs)
        peaks: dict[str, float] = {"eager": _peak(model, inputs, _reserved(device), device)}
        for side in sides:
            if time.monotonic() > until:
                break
            before = _reserved(device)
            started = time.perf_counter()
            try:
                function = side_of(model, side)
                for _ in range(3):
                    function(*inputs)
                _wait(device)
            except Exception as fault:
                say(model=name, side=side, error=f"{type(fault).__name__}: {fault}"[:400])
                continue
            seconds[side] = time.perf_counter() - started
            peaks[side] = _peak(function, inputs, before, device)
            ready[side] = function
        times = in_turns(ready, inputs, device, until)
        for side, function in ready.items():
            found = function(*inputs)
            extra: dict[str, Any] = {"error": error(found, expected)}
            if device != "cpu":
                extra["peak_mib"] = round(peaks[side], 1)
            if exact is not None:
                extra["error64"] = error(found, exact)
            if isinstance(function, Compiled):
                extra["report"] = summary(function.report().as_dict())
                function.reset()
            say(model=name, side=side, us=round(times[side], 1), compile_s=round(seconds[side], 2), **extra)
    return times


def _reserved(device: str) -> int:
    """Bytes that PyTorch holds on the device, without what it keeps for later."""
    if device == "cpu":
        return 0
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved()


def _peak(function: Side, inputs: tuple[torch.Tensor, ...], before: int, device: str) -> float:
    """MiB that a side holds during a call in addition to what was held before it was made; pools of CUDA graphs count."""
    if device == "cpu":
        return 0.0
    _reserved(device)
    torch.cuda.reset_peak_memory_stats()
    function(*inputs)
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_reserved() - before) / 2**20


def in_turns(ready: dict[str, Side], inputs: tuple[torch.Tensor, ...], device: str, until: float) -> dict[str, float]:
    """Median microseconds of a call by side, called in turns."""
    samples: dict[str, list[int]] = {side: [] for side in ready}
    for number in range(CALLS):
        for side, function in ready.items():
            _wait(device)
            started = time.perf_counter_ns()
            function(*inputs)
            _wait(device)
            samples[side].append(time.perf_counter_ns() - started)
        if number >= 10 and time.monotonic() > until:
            break
    return {side: statistics.median(values) / 1e3 for side, values in samples.items()}


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def _exact(name: str, device: str, inputs: tuple[torch.Tensor, ...]) -> Any:
    wide, _ = build(name, device)
    try:
        return wide.double()(*(value.double() if value.is_floating_point() else value for value in inputs))
    except Exception:
        return None


def summary(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Of each specialisation: how much was kept, why the rest was not, and the CUDA graph."""
    return [
        {
            "kept": sum(region["kept"] for region in known["regions"]),
            "regions": len(known["regions"]),
            "left": sorted({f"{r['rule']}: {r['reason']}"[:160] for r in known["regions"] if not r["kept"]})[:6],
            **{key: known[key] for key in ("operations", "compile_s", "eager_ns", "fused_ns", "cuda_graph", "notes")},
        }
        for known in report["specialisations"]
    ] + [{"eager": report["eager"]}]


def _child() -> None:
    """Measures one model: `python -m models.sides MODEL DEVICE SECONDS SIDE...`."""
    name, device, seconds, *sides = sys.argv[1:]
    warnings.simplefilter("ignore")
    try:
        measure(name, device, sides, time.monotonic() + float(seconds) - 5)
    except Exception as fault:
        say(model=name, error=f"{type(fault).__name__}: {fault}"[:400], at=traceback.format_exc()[-900:])


if __name__ == "__main__":
    _child()
