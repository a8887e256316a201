"""Measures the calls of passes, each together with the operations that it replaces.

`python -m passnet._services.confirm` answers lines `{"graph": WIRE, "inputs": [META, ...], "device": D, "threads": n, "lock": PATH,
"passes": {NAME: TEXT}}` with `{"calls": [{"pass", "fault", "pairs": [[eager_ns, fused_ns], ...]}, ...]}`. The passes are applied to the
graph, and the graph runs on random inputs. At each call of a pass, its result is compared with that of the operations, and then both are
called in turns. One sample is the time of one call and the wait for its end, as in the referee. Calls with arguments of the same types
are measured once.
"""

from __future__ import annotations

import fcntl
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.fx

from passnet._backend.effects import effects_of
from passnet._backend.regions import Judge, Region, direct
from passnet._passes.load import Pass, PassDirectory
from passnet._passes.rewrite import rewrite
from passnet._passes.wire import to_graph_module
from passnet._services.inputs import make_inputs
from passnet._services.serve import serve

_WARM_UP = 3
# Least and largest number of pairs of samples of one call, and the time in nanoseconds that decides between the two.
_LEAST, _MOST, _BUDGET_NS = 7, 31, 60_000_000


def sample_pairs(eager: Callable[[], Any], fused: Callable[[], Any], device: torch.device) -> list[list[int]]:
    """Returns pairs of times of one call of each function, in nanoseconds. Each function is the first one in half of the pairs."""

    def read(call: Callable[[], Any]) -> int:
        started = time.perf_counter_ns()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter_ns() - started

    for _ in range(_WARM_UP):
        read(eager)
        read(fused)
    started, pairs = time.perf_counter_ns(), []
    while len(pairs) < _LEAST or (len(pairs) < _MOST and time.perf_counter_ns() - started < _BUDGET_NS):
        if len(pairs) % 2:
            second = read(fused)
            pairs.append([read(eager), second])
        else:
            pairs.append([read(eager), read(fused)])
    return pairs


class _Confirm(Judge):
    """Runs a rewritten graph, and keeps times and faults of each kind of call."""

    def __init__(self, module: torch.fx.GraphModule, passes: Sequence[Pass], device: torch.device, lock: Path) -> None:
        # A task compares only values, so `aliases` is off. `passnet.backend` itself leaves calls to PyTorch if results share memory.
        super().__init__(module, passes, timed=False, aliases=False)
        self.device = device
        self.lock = lock
        self.calls: list[dict[str, Any]] = []

    def _decide(self, rule: Pass, values: Sequence[Any], region: Region, escapes: bool, unseen: frozenset[int]) -> None:
        super()._decide(rule, values, region, escapes, unseen)
        call: dict[str, Any] = {"pass": rule.name, "fault": None if region.kept else region.reason, "pairs": []}
        self.calls.append(call)
        if not region.kept:
            return
        pattern = torch.fx.GraphModule({}, rule.pattern).forward
        effects = effects_of(pattern, values)
        mine, theirs = values, values
        if effects is not None and effects.mutated:
            mine, theirs = ([_copy(value) for value in values] for _ in range(2))
        with _locked(self.lock):
            call["pairs"] = sample_pairs(lambda: pattern(*theirs), lambda: rule.replacement(*mine), self.device)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def confirm(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request."""
    device = torch.device(request["device"])
    torch.set_num_threads(request["threads"])
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        for name, text in request["passes"].items():
            Path(place, name).write_text(text)
        passes = [direct(rule) for rule in PassDirectory.load(Path(place)).passes]
        rewritten = rewrite(to_graph_module(request["graph"]), passes)
        runner = _Confirm(rewritten.module, passes, device, Path(request["lock"]))
        runner.run(*(value.to(device) for value in make_inputs(request["inputs"])))
    return {"calls": runner.calls}


if __name__ == "__main__":
    serve(confirm)
