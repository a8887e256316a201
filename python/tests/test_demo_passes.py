"""The hand-written passes of the demo suite: they match, and agree with eager mode, in C++ and in interpreted Triton."""

from __future__ import annotations

import copy
import functools
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from conftest import REPOSITORY
from passnet._passes.load import PassDirectory, trace_pattern
from passnet._passes.rewrite import rewrite

SUITE = REPOSITORY / "suites" / "demo"
TASKS = sorted(path.name for path in (SUITE / "passes").iterdir() if path.is_dir())
# (rtol, atol) at t = -4: of half types a sum in another order may move an element to its neighbour and the next
# operation that again, which is more than t = -5 allows.
TOLERANCES = {torch.float32: (2e-5, 1e-4), torch.float16: (4e-3, 1e-4), torch.bfloat16: (3.7e-2, 1e-4)}


def make_inputs(folder: Path, shape_of: Callable[[list[int]], list[int]] = list) -> list[torch.Tensor]:
    """Values within the recorded statistics of each input, in the shape that `shape_of` makes of the recorded one."""
    generator = torch.Generator().manual_seed(0)
    inputs = []
    for meta in runpy.run_path(str(folder / "weight_meta.py")).values():
        if not isinstance(meta, type):
            continue
        dtype = getattr(torch, meta.dtype.removeprefix("torch."))
        shape = shape_of(meta.shape)
        if dtype.is_floating_point:
            value = torch.randn(shape, generator=generator).to(dtype) * meta.std + meta.mean
            value = value.clamp(min=getattr(meta, "min_val", -100), max=100)
        else:
            value = torch.randint(meta.min_val, meta.max_val + 1, shape, generator=generator)
        inputs.append(value)
    return inputs


def graphs(task: str) -> Iterator[tuple[Path, torch.fx.GraphModule]]:
    for folder in sorted((SUITE / task).iterdir()):
        graph = trace_pattern(runpy.run_path(str(folder / "model.py"))["GraphModule"].forward)
        unused_self = next(iter(graph.nodes))
        graph.erase_node(unused_self)
        yield folder, torch.fx.GraphModule(torch.nn.Module(), graph)


def assert_agrees(inputs: list[torch.Tensor], module: torch.fx.GraphModule, passes: PassDirectory) -> None:
    """One pass matches, and the results are those of eager mode, strides included."""
    expected = module(*(value.clone() for value in inputs))
    rewriting = rewrite(copy.deepcopy(module), passes.passes)
    assert sum(report.matches for report in rewriting.passes) == 1, rewriting.passes
    found = rewriting.module(*inputs)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and ours.stride() == theirs.stride()
        rtol, atol = TOLERANCES.get(ours.dtype, (0, 0))
        torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol)


@pytest.mark.parametrize("task", TASKS)
def test_on_the_cpu(task: str):
    passes = PassDirectory.load(SUITE / "passes" / task)
    for folder, module in graphs(task):
        assert_agrees(make_inputs(folder), module, passes)


def test_layouts_that_a_kernel_cannot_take_are_refused():
    module = runpy.run_path(str(SUITE / "passes/gpt2-gelu-tanh/fuse_gelu_tanh.py"))
    with pytest.raises(ValueError, match="contiguous"):
        module["gelu"](torch.zeros(4, 6).t())


def test_on_interpreted_triton():
    """In a separate process: Triton decides when it is imported whether kernels are interpreted."""
    pytest.importorskip("triton", reason="Triton is not installed")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == TASKS


def shrunk(task: str, shape: list[int]) -> list[int]:
    """A shape that the task's graphs take as well, of few rows: an interpreted program takes milliseconds."""
    if task.endswith(("bn-add-relu", "bn-hardswish", "causal-softmax")):
        return [min(shape[0], 2), *shape[1:2], 3, 3] if len(shape) == 4 else shape
    if task == "retinanet-box-deltas":
        return [5, *shape[1:]]
    return [*(min(extent, 3) for extent in shape[:-1]), *shape[-1:]]


def run_interpreted() -> None:
    """All graphs with tensors that say that they are on a GPU.

    Not those of bfloat16, to which the interpreter does not round as a GPU does.
    """
    torch.Tensor.is_cuda = property(lambda _: True)
    for task in TASKS:
        passes = PassDirectory.load(SUITE / "passes" / task)
        for folder, module in graphs(task):
            inputs = make_inputs(folder, functools.partial(shrunk, task))
            if all(value.dtype != torch.bfloat16 for value in inputs):
                assert_agrees(inputs, module, passes)
    print(json.dumps(TASKS))


if __name__ == "__main__":
    run_interpreted()
