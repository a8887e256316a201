"""One side of one model, in a process of its own: time to compile, steady state, memory, and distance from float64."""

from __future__ import annotations

import contextlib
import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import torch
from models.sides import leaves, summary
from torch._inductor import select_algorithm
from torch._inductor.runtime import triton_heuristics

import passnet
from passnet import _compilers
from passnet._backend import stopwatch
from passnet._compile.compiled import Compiled
from whole import page
from whole.captured import Sample
from whole.tolerances import STEPS, TOLERANCES, tolerance

Side = Callable[..., Any]
# Threads that TorchInductor compiles in.
COMPILE_THREADS = 4
WARM_UPS, MOST_ROUNDS, LEAST_ROUNDS, SECONDS = 3, 40, 8, 0.6
# Seconds in which the work that stopped processes have given to the device ends.
_DRAIN = 0.0015
PASSNET = {
    "fuse": {},
    "passnet+graphs": {"cuda_graphs": True},
    "passnet frozen+graphs": {"cuda_graphs": True, "freeze": True},
}


class Turn:
    """The device, for one process at a time: `with turn:` waits until the scheduler has stopped the others. It nests."""

    def __init__(self, pipe: Connection, core: int | None) -> None:
        self.pipe = pipe
        self.core = core
        self.depth = 0

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        self.pipe.send({"event": "ask"})
        self.pipe.recv()
        time.sleep(_DRAIN)

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.pipe.send({"event": "done"})

    @contextlib.contextmanager
    def on_own_core(self) -> Iterator[None]:
        """Waits for the device, and moves to the core that is kept for measurements."""
        cores = os.sched_getaffinity(0)
        with self:
            if self.core is not None:
                os.sched_setaffinity(0, {self.core})
            yield
        os.sched_setaffinity(0, cores)


def side_of(module: torch.nn.Module, side: str) -> Side:
    """Returns the function that a side makes of a module."""
    if side in PASSNET:
        return passnet.compile(module, **PASSNET[side])
    if side in page.BEST_MODES:
        return torch.compile(module, mode=side, dynamic=False)
    return _compilers.load(side).compile(module)


def measure(sample: Sample, side: str, turn: Turn) -> dict[str, Any]:
    """The row of a side."""
    _share_the_device(turn)
    module, inputs = sample.module(), sample.inputs()
    device = torch.device(sample.device)
    with torch.no_grad():
        module(*inputs)
        eager_peak = _peak(module, inputs, device)
        expected = _seeded(module, inputs)
        exact = [value.cpu() for value in leaves(sample.exact())] or None
        row, function = _compiled(module, inputs, side, turn, device)
        row |= {"eager_peak_mib": eager_peak, "peak_mib": _peak(function, inputs, device)}
        found = _seeded(function, inputs)
        row |= _distances(found, expected, exact)
        with turn.on_own_core():
            row |= _times(module, function, inputs, device)
        row["after"] = _distances(_seeded(function, inputs), expected, None)["error"]
        if isinstance(function, Compiled):
            row["report"] = summary(function.report().as_dict())
    return row


def _share_the_device(turn: Turn) -> None:
    """Has both compilers compare the times of their candidates only while no other process uses the device."""
    _takes_a_turn(stopwatch, "_compared", turn)
    # Candidates for products and convolutions, and the configurations of other kernels.
    _takes_a_turn(select_algorithm.AlgorithmSelectorCache, "benchmark_in_current_process", turn)
    _takes_a_turn(triton_heuristics.CachingAutotuner, "benchmark_all_configs", turn)


def _takes_a_turn(owner: Any, name: str, turn: Turn) -> None:
    alone = getattr(owner, name)

    def within(*arguments: Any, **named: Any) -> Any:
        with turn:
            return alone(*arguments, **named)

    setattr(owner, name, within)


def _compiled(
    module: torch.nn.Module, inputs: list[torch.Tensor], side: str, turn: Turn, device: torch.device
) -> tuple[dict[str, Any], Side]:
    """Compiles, and calls until nothing is compiled or recorded any more."""
    torch._inductor.config.compile_threads = COMPILE_THREADS
    turn.pipe.send({"event": "compile"})
    function = side_of(module, side)
    for _ in range(WARM_UPS):
        function(*inputs)
    _wait(device)
    turn.pipe.send({"event": "compiled"})
    # The scheduler knows for how long this process was stopped.
    return {"compile_s": turn.pipe.recv()}, function


def _seeded(function: Side, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [value.detach().cpu() for value in leaves(function(*inputs))]


def _distances(
    found: list[torch.Tensor], expected: list[torch.Tensor], exact: list[torch.Tensor] | None
) -> dict[str, Any]:
    """Largest differences relative to the largest value: from eager mode, and of both from float64."""
    if len(found) != len(expected) or any(
        (a.dtype, a.shape) != (b.dtype, b.shape) for a, b in zip(found, expected, strict=True)
    ):
        return {"error": None, "fault": "results of other types or shapes"}
    distances: dict[str, Any] = {"error": _distance(found, expected), "equal": _equal(found, expected)}
    distances["dtypes"] = [str(value.dtype).removeprefix("torch.") for value in expected]
    distances["close_from"] = _close_from(found, expected)
    if exact is not None and len(exact) == len(expected):
        distances |= {"error64": _distance(found, exact), "eager_error64": _distance(expected, exact)}
    return distances


def _distance(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float | None:
    """None where one side has a value that is no number and the other has not."""
    largest = 0.0
    for a, b in zip(found, expected, strict=True):
        a, b = (
            a.to(torch.complex128 if a.is_complex() else torch.float64),
            b.to(torch.complex128 if b.is_complex() else torch.float64),
        )
        if not torch.equal(a.isfinite(), b.isfinite()):
            return None
        a, b = a.masked_fill(~a.isfinite(), 0), b.masked_fill(~b.isfinite(), 0)
        if a.numel():
            largest = max(largest, ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item())
    return largest


def _equal(found: list[torch.Tensor], expected: list[torch.Tensor]) -> list[bool]:
    return [torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(found, expected, strict=True)]


def _close_from(found: list[torch.Tensor], expected: list[torch.Tensor]) -> list[int | None]:
    """For each result the smallest tolerance at which it is close to that of eager mode."""
    smallest: list[int | None] = []
    for a, b in zip(found, expected, strict=True):
        name = str(b.dtype).removeprefix("torch.")
        reached = [t for t in TOLERANCES if name in STEPS and _all_close(a, b, *tolerance(name, t))]
        smallest.append(min(reached, default=None))
    return smallest


def _all_close(found: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> bool:
    return torch.allclose(found.double(), expected.double(), rtol=rtol, atol=atol, equal_nan=True)


def _peak(function: Side, inputs: list[torch.Tensor], device: torch.device) -> float | None:
    """MiB that PyTorch holds at most during a call: weights, inputs, and pools of CUDA graphs."""
    if device.type == "cpu":
        return None
    gc.collect()
    _wait(device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    function(*inputs)
    _wait(device)
    return round(torch.cuda.max_memory_reserved() / 2**20, 1)


def _times(eager: Side, function: Side, inputs: list[torch.Tensor], device: torch.device) -> dict[str, Any]:
    """Microseconds of a call, of both sides in turns, each ended by a synchronisation."""
    sides, samples = (eager, function), ([], [])
    for _ in range(WARM_UPS):
        for side in sides:
            side(*inputs)
    until = time.monotonic() + SECONDS
    for number in range(MOST_ROUNDS):
        for place in (0, 1) if number % 2 else (1, 0):
            _wait(device)
            started = time.perf_counter_ns()
            sides[place](*inputs)
            _wait(device)
            samples[place].append((time.perf_counter_ns() - started) / 1e3)
        if number + 1 >= LEAST_ROUNDS and time.monotonic() > until:
            break
    ratios = sorted(e / f for e, f in zip(*samples, strict=True))
    return {
        "eager_us": round(statistics.median(samples[0]), 1),
        "us": round(statistics.median(samples[1]), 1),
        "rounds": len(ratios),
        "ratios": [round(ratios[int(len(ratios) * part)], 4) for part in (0.25, 0.5, 0.75)],
    }


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.cuda.synchronize()
