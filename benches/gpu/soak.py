"""Many calls of changing sizes from several threads, each on a stream of its own: wrong results, memory, and calls per second.

    PYTHONPATH=python:benches python benches/gpu/soak.py [--device cuda] [--calls 10000] [--threads 4] [--seconds 300]

Each result is compared with that of eager mode for the same inputs, on the device, without waiting for it. Inputs have more sizes than
PassNet compiles, so all ways of a call are taken. Prints one JSON object for each way of compiling. Memory is counted after all
sizes are known, after all calls, and after the compiled model is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from models import build

import passnet
import passnet.backend

SIZES = 12
WAYS: dict[str, Callable[[torch.nn.Module], Any]] = {
    "passnet.compile, graphs": lambda model: passnet.compile(model, cuda_graphs=True),
    "passnet.compile": lambda model: passnet.compile(model, cuda_graphs=False),
    "torch.compile(backend='passnet')": lambda model: torch.compile(model, backend="passnet", dynamic=True),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    passnet.backend.register()
    torch.set_grad_enabled(False)
    until, wrong = time.monotonic() + options.seconds, 0
    for name, compiled in WAYS.items():
        if options.device == "cpu" and "graphs" in name:
            continue
        row = soak(compiled, options, until)
        print(json.dumps({"way": name, "device": options.device, "threads": options.threads, **row}), flush=True)
        wrong += row["wrong"]
    return 1 if wrong else 0


def soak(compiled: Callable[[torch.nn.Module], Any], options: argparse.Namespace, until: float) -> dict[str, Any]:
    torch._dynamo.reset()
    model, inputs = build("bert", options.device)
    model.eval()
    # Tokens of different lengths, whose first dimension is that of a batch.
    calls = [tuple(value[:, : value.shape[1] - 2 * number].contiguous() for value in inputs) for number in range(SIZES)]
    expected = [_leaf(model(*arguments)) for arguments in calls]
    before = _memory(options.device)
    function = compiled(model)
    started = time.monotonic()
    for _ in range(2):
        for arguments in calls:
            function(*arguments)
    compile_s = time.monotonic() - started
    rows = {"compile_s": round(compile_s, 1), "mib_before": before, "mib_compiled": _memory(options.device)}
    rows |= in_threads(function, calls, expected, options, until) | {"mib_after": _memory(options.device)}
    if hasattr(function, "reset"):
        function.reset()
    del function
    torch._dynamo.reset()
    return rows | {"mib_reset": _memory(options.device)}


def in_threads(
    function: Any, calls: list[Any], expected: list[torch.Tensor], options: argparse.Namespace, until: float
) -> dict[str, Any]:
    """Calls from all threads: how many, how many were wrong, exceptions."""
    faults: list[str] = []
    counts = [0] * options.threads
    wrong = [torch.zeros((), dtype=torch.int64, device=options.device) for _ in range(options.threads)]

    def work(thread: int) -> None:
        try:
            with torch.no_grad(), _stream(options.device):
                for number in range(options.calls // options.threads):
                    place = (number * 7 + thread) % SIZES
                    found = _leaf(function(*calls[place]))
                    wrong[thread] += ~torch.isclose(found, expected[place], rtol=1e-3, atol=1e-4).all()
                    counts[thread] += 1
                    if time.monotonic() > until:
                        break
                _finish(options.device)
        except Exception as fault:
            faults.append(f"thread {thread}: {type(fault).__name__}: {fault}"[:300])

    started = time.monotonic()
    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - started
    found = {"calls": sum(counts), "wrong": sum(int(count) for count in wrong), "faults": faults}
    return found | {"calls_per_second": round(sum(counts) / seconds)}


def _leaf(value: Any) -> torch.Tensor:
    while isinstance(value, Sequence) and not isinstance(value, torch.Tensor):
        value = value[0]
    return value


@contextlib.contextmanager
def _stream(device: str) -> Any:
    """A stream of its own, which begins after the work that was given to the device before."""
    if device == "cpu":
        yield
        return
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        yield


def _finish(device: str) -> None:
    if device != "cpu":
        torch.cuda.current_stream().synchronize()


def _memory(device: str) -> float:
    """MiB of all tensors on the device, or on a CPU those that Python knows."""
    gc.collect()
    if device == "cpu":
        found = [value for value in gc.get_objects() if type(value) in (torch.Tensor, torch.nn.Parameter)]
        return round(sum(value.numel() * value.element_size() for value in found) / 2**20, 2)
    torch.cuda.synchronize()
    # cuBLAS has a workspace for each stream, which PyTorch keeps.
    torch._C._cuda_clearCublasWorkspaces()
    return round(torch.cuda.memory_allocated() / 2**20, 2)


if __name__ == "__main__":
    sys.exit(main())
