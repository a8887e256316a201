"""Training steps of whole models: eager, `passnet.compile` and TorchInductor, with a check of all gradients.

    PYTHONPATH=python:benches python benches/train.py [--device cuda] [--threads N] [--seconds S] [MODEL...]

A step is forward, a loss, and backward; dropout draws the same numbers on all sides. Prints one JSON object per line, `{"model": ..., "side": ...,
"us": ..., "compile_s": ..., "gradient_error": ..., "peak_mib": ...}`, and finally geometric means against eager. The sides are called in turns; times
are medians. `gradient_error` is the largest difference from eager relative to the largest gradient of each parameter, `gradient_error64`
the same against float64 where the model draws no random numbers.
"""

from __future__ import annotations

import math
import statistics
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch
from models import build
from models.sides import in_turns, leaves, parse, say

import passnet
from passnet._compile.compiled import Compiled

MODELS = ("gpt", "bert", "mobilenet", "convnext")
SIDES = ("passnet", "default")


def step_of(model: torch.nn.Module, function: Callable[..., Any]) -> Callable[..., Any]:
    """One forward and backward; gradients are new in each step."""

    def step(*inputs: torch.Tensor) -> None:
        model.zero_grad(set_to_none=True)
        torch.manual_seed(1)
        sum(leaf.double().square().mean() for leaf in leaves(function(*inputs))).backward()

    return step


def gradients(model: torch.nn.Module, step: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    step(*inputs)
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def worst(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """Relative to the largest gradient of a parameter, or to a thousandth of the largest of all where that is more."""
    least = 1e-3 * max(value.abs().max().item() for value in expected)
    pairs = zip(found, expected, strict=True)
    return max(((a.double() - b.double()).abs().max() / b.abs().max().clamp(min=least)).item() for a, b in pairs)


def measure(name: str, device: str, sides: tuple[str, ...], until: float) -> dict[str, float]:
    torch._dynamo.reset()
    model, inputs = build(name, device)
    model.train()
    # Statistics of batches change from step to step; gradients do not depend on them.
    ready: dict[str, Callable[..., Any]] = {"eager": step_of(model, model)}
    expected = gradients(model, ready["eager"], inputs)
    exact = _exact(name, device, inputs)
    extra: dict[str, dict[str, Any]] = {"eager": {"peak_mib": _peak(ready["eager"], inputs, device)}}
    for side in sides:
        if time.monotonic() > until:
            break
        started = time.perf_counter()
        function = passnet.compile(model) if side == "passnet" else torch.compile(model, mode=side)
        step = step_of(model, function)
        for _ in range(3):
            step(*inputs)
        seconds = time.perf_counter() - started
        found = gradients(model, step, inputs)
        ready[side] = step
        extra[side] = {"compile_s": round(seconds, 2), "gradient_error": worst(found, expected)}
        extra[side] |= {"peak_mib": _peak(step, inputs, device)}
        if exact is not None:
            extra[side]["gradient_error64"] = worst(found, exact)
            extra["eager"]["gradient_error64"] = worst(expected, exact)
        if isinstance(function, Compiled):
            (known,) = function.report().specialisations
            kept = sum(region.kept for region in known.regions)
            extra[side] |= {"kept": kept, "regions": len(known.regions), "left": known.left, "notes": known.notes}
    times = in_turns(ready, inputs, device, until)
    for side, value in times.items():
        say(model=name, side=side, us=round(value, 1), **extra[side])
    return times


def _exact(name: str, device: str, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor] | None:
    model, _ = build(name, device)
    model.train()
    if any(isinstance(module, torch.nn.Dropout) and module.p for module in model.modules()):
        return None
    wide = model.double()
    given = tuple(value.double() if value.is_floating_point() else value for value in inputs)
    return gradients(wide, step_of(wide, wide), given)


def _peak(step: Callable[..., Any], inputs: tuple[torch.Tensor, ...], device: str) -> float | None:
    """MiB of tensors in a step, at their most."""
    if device == "cpu":
        return None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    step(*inputs)
    torch.cuda.synchronize()
    return round(torch.cuda.max_memory_allocated() / 2**20, 1)


def main() -> None:
    arguments = parse(MODELS, SIDES, device="cpu")
    until = time.monotonic() + arguments.seconds
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else f"cpu, {arguments.threads} threads"
    say(torch=torch.__version__, device=where)
    ratios: dict[str, list[float]] = {}
    for name in arguments.models:
        if time.monotonic() > until - 10:
            break
        try:
            times = measure(name, arguments.device, tuple(arguments.sides), until)
        except Exception as fault:
            say(model=name, error=f"{type(fault).__name__}: {fault}"[:400], at=traceback.format_exc()[-900:])
            continue
        for side, value in times.items():
            ratios.setdefault(side, []).append(math.log(times["eager"] / value))
    if ratios:
        say(summary={side: round(math.exp(statistics.fmean(logs)), 3) for side, logs in ratios.items()})


if __name__ == "__main__":
    main()
