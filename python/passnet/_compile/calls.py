"""Times whole calls as the user makes them: a compiled call, with its guards, against a call of the model itself.

The graph is timed without guards, so a graph of a few small operations can win as a graph and lose as a call. On a device, a program
either waits for the result of each call, or makes the next call while the device computes. In the second case a busy device hides
the host's work. The compiled call must not lose in either case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from passnet._backend.regions import fork_random
from passnet._backend.stopwatch import Comparison, compare_times
from passnet._backend.types import device_of
from passnet._compile.build import Built
from passnet._compile.capture import Captured
from passnet._compile.entry import MISS, Entry
from passnet._compile.report import Specialisation
from passnet.kernels._errors import is_fatal

# Guards take microseconds. They cannot matter for a call that takes this long, or where the graph gains this much.
_LONG_NS, _GAIN_NS = 3_000_000, 50_000
# More rounds than for a region, because the difference is small. All of them take about 8 ms.
_ROUNDS = 41
# Both figures of so many rounds are good to about one per cent.
_NOISE = 1.01


def is_slower(
    entries: Sequence[Entry],
    built: Built,
    captured: Captured,
    model: Callable[..., Any],
    given: tuple[tuple[Any, ...], dict[str, Any]],
) -> bool:
    """Returns whether a call takes longer through these entries, the last of which is `built`, than by the model itself.

    If so, releases what was built, because the model is to run such calls. The report gets the times. Calls that write to the model or
    to Python objects are not repeated, and so not timed. Calls with compiled gradients and CUDA graphs that the user asked for are not timed either.
    """
    report = built.report
    if captured.written or not _is_close(report):
        return False
    if captured.mutated and (given := _with_copies(captured, given)) is None:
        return False
    args, kwargs = given

    def by_model() -> Any:
        return model(*args, **kwargs)

    def call(*args: Any, **kwargs: Any) -> Any:
        # The same steps as in `Compiled.__call__`.
        if is_dynamo_compiling():
            return model(*args, **kwargs)
        for entry in entries:
            result = entry(args, kwargs)
            if result is not MISS:
                return result
        return MISS

    with fork_random(captured.example):
        try:
            started = time.perf_counter_ns()
            by_model()
            if time.perf_counter_ns() - started > _LONG_NS or call(*args, **kwargs) is MISS:
                return False
            times, loses = _times(by_model, lambda: call(*args, **kwargs), device_of(captured.example))
        except Exception as error:
            if is_fatal(error):
                raise
            # For example, no memory is left. The entry handles exceptions of later calls.
            return False
    report.model_ns, report.call_ns = times.eager_ns, times.fused_ns
    if loses:
        report.by_model = "with the cost of its guards, the compiled call is slower than the model"
        built.release(model)
    return loses


def _times(model: Callable[[], Any], compiled: Callable[[], Any], device: torch.device) -> tuple[Comparison, bool]:
    """Returns the times of both sides, and whether the compiled side loses: in a row of calls, or where the host waits for each."""
    in_a_row = compare_times(model, compiled, device, rounds=_ROUNDS)
    if _loses(in_a_row) or device.type == "cpu":
        return in_a_row, _loses(in_a_row)
    alone = compare_times(model, compiled, device, alone=True, rounds=_ROUNDS)
    return (alone, True) if _loses(alone) else (in_a_row, False)


def _loses(times: Comparison) -> bool:
    fastest = times.fused_ns / times.eager_ns
    if times.is_disturbed:
        # Where processes share a device, a call waits for the others' turns, which take many times as long as the call. The median is
        # then the ratio of two waits. Other work delays the fastest rounds least.
        return fastest > _NOISE
    # A wrong decision for the model costs little, because the two sides are then about equally fast.
    return max(times.median_ratio, fastest) > _NOISE


def _is_close(report: Specialisation) -> bool:
    """Returns whether the guards can decide which side is faster."""
    if report.cuda_graph == "on" or (report.trains and report.left is None):
        return False
    if report.eager_ns is None or report.fused_ns is None or report.trains:
        return True
    return report.eager_ns < _LONG_NS and report.eager_ns - report.fused_ns < _GAIN_NS


def _with_copies(
    captured: Captured, given: tuple[tuple[Any, ...], dict[str, Any]]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Returns the arguments with copies of the tensors that the call writes to; None if it also writes to other tensors."""
    written = [captured.example[place] for place in captured.mutated]
    # A small tensor of integers may be a position, which grows with each call.
    may_count = any(not tensor.is_floating_point() for tensor in captured.counters.values())
    if may_count or any(tensor.requires_grad for tensor in written):
        return None
    numbers = {id(tensor) for tensor in written}
    leaves, structure = torch.utils._pytree.tree_flatten(given)
    if not numbers <= {id(leaf) for leaf in leaves}:
        return None
    copies = [leaf.clone() if id(leaf) in numbers else leaf for leaf in leaves]
    return torch.utils._pytree.tree_unflatten(copies, structure)
