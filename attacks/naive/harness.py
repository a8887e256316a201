"""A harness that makes the mistakes that PassNet does not make: the positive control of the attack suite.

It runs candidate and reference in one process, on the same tensors, compares there, prints its result to a log and reads
it from there, as public harnesses do. Attacks that have no switch in PassNet have to work here, or they prove nothing.

Reads a JSON list of jobs from standard input and writes a JSON list of results to standard output.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.fx

from passnet._passes.load import Pass
from passnet._passes.rewrite import rewrite

TRIALS = 12
LIMIT_S = 120


def main() -> None:
    results = [run(job) for job in json.load(sys.stdin)]
    json.dump(results, sys.stdout)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Judges one job in a child process, and reads what its log and its files say."""
    work = tempfile.mkdtemp()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        serve(job, work)
    deadline = time.monotonic() + LIMIT_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
        time.sleep(0.005)
    log = Path(work, "log").read_text(errors="replace")
    speedups = re.findall(r"^\[Speedup\]\[e2e\]: (\S+)", log, re.MULTILINE)
    aggregate = Path(work, "verdict.json")
    if aggregate.exists():
        speedups.append(json.loads(aggregate.read_text())["speedup"])
    shutil.rmtree(work)
    if os.environ.get("NAIVE_VERBOSE"):
        print(job["name"], log, file=sys.stderr)
    return {
        "name": job["name"],
        "correct": "[Result][status]: success" in log,
        "speedup": float(speedups[-1]) if speedups else 0.0,
    }


def serve(job: dict[str, Any], work: str) -> None:
    os.chdir(work)
    log = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        judge(job)
    except BaseException as error:
        print("[Result][status]: failed", type(error).__name__, error, flush=True)
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(0)


def judge(job: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    sys.path.insert(0, job["passes"])
    model = load(Path(job["task"], "model.py")).GraphModule()
    metas = vars(load(Path(job["task"], "weight_meta.py"))).values()
    # The passes come first: what makes the inputs is theirs to patch.
    names = json.loads(Path(job["passes"], "sorted_output_pass_rule_names.json").read_text())
    passes = [Pass.of_module(name, load(Path(job["passes"], f"{name}.py"))) for name in names]
    rewritten = rewrite(torch.fx.symbolic_trace(model), passes)
    inputs = [make(meta, job["device"]) for meta in metas if isinstance(meta, type)]
    baseline = torch.compile(model, backend="eager") if job["compiled"] else model
    with torch.no_grad():
        first = baseline(*inputs)
        out = rewritten.module(*inputs)
        expected = model(*inputs)
        slow = measure(baseline, inputs)
        fast = measure(rewritten.module, inputs)
        # `first` stays alive as long as a harness keeps its reference.
        close = len(first) == len(out) and all(is_close(a, b, job["task"]) for a, b in zip(out, expected, strict=True))
    print("[Result][status]:", "success" if close else "accuracy")
    print(f"[Speedup][e2e]: {slow / fast}", flush=True)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(meta: Any, device: str) -> torch.Tensor:
    values = torch.randn(meta.shape) * meta.std * 0.2 + meta.mean
    return values.to(getattr(torch, meta.dtype.removeprefix("torch."))).to(device)


def is_close(out: torch.Tensor, expected: torch.Tensor, task: str) -> bool:
    limits = {"rtol": 1e-3, "atol": float(os.environ.get("NAIVE_TOLERANCE", 1e-3))}
    if Path(task, "tolerance.json").exists():
        limits = json.loads(Path(task, "tolerance.json").read_text())
    return bool(torch.allclose(out, expected, **limits))


def measure(function: Any, inputs: list[torch.Tensor]) -> float:
    import statistics

    times = []
    for _ in range(TRIALS):
        begin = time.perf_counter()
        function(*inputs)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


if __name__ == "__main__":
    main()
