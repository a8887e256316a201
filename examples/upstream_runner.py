"""Runs pass directories as the published runner does, and compares verdicts and speed-ups with PassNet's paper mode.

The published runner captures a model with Dynamo, traces `pattern` and the replacement symbolically, and has
`torch.fx.subgraph_rewriter` replace one by the other; a pass is a file that is imported by its path, with its directory on
`sys.path`. This script does the same in a few lines, and shares no matcher, loader or comparison with PassNet. `torch.fx` records
defaults of `torch.nn.functional` by name, and compares calls as they are written, so that a pattern is tried in two forms: as
traced, and with all arguments positional.

    python examples/upstream_runner.py suites/demo suites/demo/passes --passnet target/release/passnet
    python examples/upstream_runner.py suites/demo suites/demo/passes --filter llama --graphs 1 --trials 0
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.fx.subgraph_rewriter import replace_pattern

from passnet._services.inputs import make_inputs

ORDER = "sorted_output_pass_rule_names.json"
# (rtol, atol) at tolerance -2, at which PassNet's paper mode calls a result correct.
TOLERANCE = {
    torch.float32: (10 ** (1.1772 * -2), 1e-2),
    torch.float16: (10 ** (0.6 * -2), 1e-2),
    torch.bfloat16: (10 ** (0.3592 * -2), 1e-2),
    torch.float64: (10 ** (1.4 * -2), 10 ** (1.4 * -2)),
}


@dataclass
class Result:
    """Result of one runner for one graph."""

    status: str
    """`correct`, `wrong`, `no_match` or `error`."""
    speedup: float | None = None
    detail: str = ""


class _PositionalTracer(torch.fx.Tracer):
    """Records all arguments of functions as positional ones, in their order."""

    def create_node(self, kind: str, target: Any, args: tuple, kwargs: dict, *rest: Any, **named: Any) -> torch.fx.Node:
        if kind == "call_function":
            args, kwargs = (*args, *kwargs.values()), {}
        return super().create_node(kind, target, args, kwargs, *rest, **named)


class Passes:
    """A pass directory, as the published runner reads it."""

    def __init__(self, directory: Path) -> None:
        for path in directory.glob("*.py"):
            sys.modules.pop(path.stem, None)
        sys.path.insert(0, str(directory))
        try:
            names = json.loads((directory / ORDER).read_text())
            self.modules = [_import(directory / f"{name}.py") for name in names]
        finally:
            sys.path.remove(str(directory))
        self.matches = 0
        self.errors: list[str] = []

    def backend(self, module: torch.fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        """A backend of `torch.compile`."""
        for number, rule in enumerate(self.modules):
            try:
                for tracer in (torch.fx.Tracer(), _PositionalTracer()):
                    pattern = torch.fx.GraphModule(torch.nn.Module(), tracer.trace(rule.pattern))
                    self.matches += len(replace_pattern(module, pattern, _replacement(rule)))
            except Exception as error:  # The runner reports a pass that cannot be traced and continues.
                self.errors.append(f"pass {number}: {type(error).__name__}: {error}".splitlines()[0][:160])
        module.recompile()
        return module.forward


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _replacement(rule: ModuleType) -> Callable[..., Any]:
    """The replacement as a function with the pattern's parameters: `torch.fx` pairs them by position."""
    names = list(inspect.signature(rule.pattern).parameters)
    wanted = list(inspect.signature(rule.replacement_args).parameters)
    by_name = all(name in names for name in wanted)

    def replace(*values: Any) -> Any:
        given = dict(zip(names, values, strict=True))
        arguments = rule.replacement_args(**{name: given[name] for name in wanted}) if by_name else None
        arguments = rule.replacement_args(*values) if arguments is None else arguments
        return rule.replacement_func()(*arguments)

    parameters = ", ".join(names)
    return eval(f"lambda {parameters}: replace({parameters})", {"replace": replace})


def read_sample(folder: Path, seed: int) -> tuple[torch.nn.Module, list[Any]]:
    """The module of a sample and inputs for it, in the order of its parameters."""
    module = _import(folder / "model.py").GraphModule()
    metas = {}
    for file in ("weight_meta.py", "input_meta.py"):
        if (folder / file).exists():
            values = vars(_import(folder / file)).values()
            metas.update({value.name: value for value in values if isinstance(value, type)})
    described = []
    for name in inspect.signature(module.forward).parameters:
        meta = vars(metas[name])
        fields = ("shape", "mean", "std", "data", "min_val", "max_val")
        described.append(
            {**{field: meta.get(field) for field in fields}, "dtype": meta["dtype"].removeprefix("torch.")}
        )
    return module, make_inputs(described, seed)


def run(folder: Path, directory: Path, trials: int) -> Result:
    """Verdict and speed-up of the published runner's method for one graph."""
    torch._dynamo.reset()
    try:
        module, inputs = read_sample(folder, seed=123)
        passes = Passes(directory)
        compiled = torch.compile(module, backend=passes.backend, dynamic=False)
        with torch.no_grad():
            torch.manual_seed(123)
            got = compiled(*_copies(inputs))
            torch.manual_seed(123)
            expected = module(*_copies(inputs))
            if not passes.matches:
                return Result("no_match", detail="; ".join(passes.errors))
            if not _close(got, expected):
                return Result("wrong")
            speedup = None
            if trials:
                candidate, eager = _median(compiled, inputs, trials), _median(module, inputs, trials)
                speedup = eager / candidate
    except Exception as error:
        return Result("error", detail=f"{type(error).__name__}: {error}".splitlines()[0][:160])
    return Result("correct", speedup)


def _copies(inputs: list[Any]) -> list[Any]:
    return [value.clone() for value in inputs]


def _close(got: Any, expected: Any) -> bool:
    got, expected = ([*value] if isinstance(value, (tuple, list)) else [value] for value in (got, expected))
    return len(got) == len(expected) and all(map(_value_is_close, got, expected))


def _value_is_close(got: Any, expected: Any) -> bool:
    if not isinstance(expected, torch.Tensor):
        return bool(got == expected)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return False
    if expected.dtype not in TOLERANCE:
        return torch.equal(got, expected)
    rtol, atol = TOLERANCE[expected.dtype]
    return torch.allclose(got, expected, rtol=rtol, atol=atol)


def _median(function: Callable[..., Any], inputs: list[Any], trials: int) -> float:
    for _ in range(25):
        function(*inputs)
    times = []
    for _ in range(trials):
        begin = time.perf_counter_ns()
        function(*inputs)
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times)


def run_passnet(command: str, task: Path, directory: Path, trials: int) -> dict[str, Result]:
    """PassNet's verdicts in paper mode, by graph."""
    arguments = ["eval", str(task), "--passes", str(directory), "--mode", "paper", "--json", "--trials", str(trials)]
    output = subprocess.run([command, *arguments], check=False, capture_output=True, text=True).stdout
    results = {}
    for verdict in json.loads(output)["verdicts"]:
        reason = (verdict.get("reason") or {}).get("message", "").splitlines()
        timings = [timing for timing in verdict["timings"] if timing["baseline"] == "eager"]
        speedup = timings[0]["speedup"]["ratio"] if timings else None
        kind = {"correct": "correct", "unstable": "correct", "no_match": "no_match", "accuracy": "wrong"}
        status = kind.get(verdict["status"], "error")
        results[verdict["id"]["graph"]] = Result(status, speedup, reason[0][:160] if reason else "")
    return results


def main() -> None:
    """Prints one line per graph, and a summary per pass directory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path)
    parser.add_argument("passes", type=Path, help="folder with one pass directory per task")
    parser.add_argument("--passnet", help="the command to compare with; without it only the published method runs")
    parser.add_argument("--filter", default="")
    parser.add_argument("--graphs", type=int, default=1, help="graphs of each task")
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for directory in sorted(path.parent for path in options.passes.glob(f"*/{ORDER}")):
        if options.filter not in directory.name:
            continue
        task = options.suite / directory.name
        folders = sorted(path.parent for path in task.glob("*/model.py"))[: options.graphs]
        others = run_passnet(options.passnet, task, directory, options.trials) if options.passnet else {}
        for folder in folders:
            ours, theirs = others.get(folder.name), run(folder, directory, options.trials)
            rows.append((ours, theirs))
            print(f"{directory.name}/{folder.name}  published: {_text(theirs)}  passnet: {_text(ours)}", flush=True)
    correct = sum(theirs.status == "correct" for _, theirs in rows)
    agree = sum(ours is not None and ours.status == theirs.status for ours, theirs in rows)
    print(f"published method: {correct} of {len(rows)} graphs correct; PassNet agrees on {agree}")


def _text(result: Result | None) -> str:
    if result is None:
        return "-"
    speedup = "" if result.speedup is None else f" {result.speedup:.2f}x"
    return f"{result.status}{speedup}" + (f" ({result.detail})" if result.detail and result.status != "correct" else "")


if __name__ == "__main__":
    main()
