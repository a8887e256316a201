"""Random graphs for the built-in author: its passes and eager mode must agree.

    python fuzz/author.py --seconds 600 --passnet target/debug/passnet [--device cuda]

Writes graphs of random operations, shapes, strides and types as tasks, has the author write passes for them, applies these as the
referee does, and compares results, types, strides and the memory of the inputs. Each difference is printed with its
seed; the task and its passes stay in the work folder. Needs `PYTHONPATH=python` and `PASSNET_SITE`, as the tests do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import torch
from graphs import Writer
from products import LIBRARY_STEPS

from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import rewrite
from passnet._passes.trace import trace_pattern

Tensor = torch.Tensor
# Kernels are split over as many; their results have the bits of one thread.
THREADS = 3
# Relative and absolute tolerance at t = -3 (docs/reference/scoring.md).
TOLERANCE = {torch.float32: (2.9e-4, 1e-3), torch.float16: (1.6e-2, 1e-3), torch.bfloat16: (8.4e-2, 1e-3)}
# Outcomes of a graph.
KINDS = ("equal", "without passes", "not run by eager mode", "different")


def _steps(value: Tensor) -> list[int]:
    """Strides of the dimensions that have two elements. Those of others move to no element: the referee does not compare them, and PyTorch
    does not give the same to tensors with and without content."""
    return [stride for extent, stride in zip(value.shape, value.stride(), strict=True) if extent > 1]


def _has_bits_of(a: Tensor, b: Tensor) -> bool:
    # Copies: the elements of an expanded tensor share memory, and cannot be viewed as bytes.
    one, other = (value.clone(memory_format=torch.contiguous_format).reshape(-1) for value in (a, b))
    return torch.equal(one.view(torch.uint8), other.view(torch.uint8))


class EagerError(Exception):
    """Eager mode cannot run a graph on this device. Graphs are tried on the CPU when they are made."""


def check(folder: Path, passes: Path, writer: Writer, device: str) -> str | None:
    """The difference between eager mode and the rewritten graph; `None` where they agree. Raises `EagerError`.

    The graph is not made again from its seed: an operation that fails once, for want of memory for example, is not in the graph.
    """
    text = (folder / "000" / "model.py").read_text()
    space: dict[str, Any] = {"torch": torch}
    exec(textwrap.dedent(text[text.index("    def forward") :]).replace("self, ", ""), space)

    def module() -> torch.fx.GraphModule:
        return torch.fx.GraphModule({}, trace_pattern(space["forward"]))

    names = [node.name for node in module().graph.nodes if node.op == "placeholder"]
    rewritten = rewrite(module(), PassDirectory.load(passes).passes)
    missed = [report.name for report in rewritten.passes if not report.matches]

    def run(of: torch.fx.GraphModule, threads: int) -> list[Tensor]:
        """Results, then inputs as they are afterwards."""
        inputs = [writer.inputs[name].to(device, copy=True) for name in names]
        torch.set_num_threads(threads)
        return [*of(*inputs), *inputs]

    try:
        expected_of_one, expected = (run(module(), threads) for threads in (1, THREADS))
    except RuntimeError as error:
        raise EagerError(str(error)) from error
    alone, got = (run(rewritten.module, threads) for threads in (1, THREADS))
    for place, (a, b) in enumerate(zip(got, alone, strict=True)):
        # PyTorch's own operations, which a pass leaves alone, may depend on threads: `softmax` of another dimension than the last does.
        if _has_bits_of(expected[place], expected_of_one[place]) and not _has_bits_of(a, b):
            return f"value {place}: other bits with {THREADS} threads than with one"
    for place, (a, b) in enumerate(zip(expected, got, strict=True)):
        if (a.dtype, a.shape, _steps(a)) != (b.dtype, b.shape, _steps(b)):
            return f"value {place}: {a.dtype} {a.shape} {a.stride()}, but {b.dtype} {b.shape} {b.stride()}"
        relative, absolute = TOLERANCE.get(a.dtype, (0.0, 0.0))
        if a.dtype in TOLERANCE:
            # A number that is small against the others of its tensor may be a difference of these.
            scale = a.double().abs().clamp_min(a.double().abs().mean() if a.numel() else 0.0)
            bad = (a.double() - b.double()).abs() > absolute + relative * scale
            if bool(bad.any()) or not torch.equal(a.isnan(), b.isnan()):
                return f"value {place}: {int(bad.sum())} of {a.numel()} elements differ"
        elif not torch.equal(a, b):
            return f"value {place}: integers differ"
    return f"nothing matches {missed}" if missed and len(missed) == len(rewritten.passes) else None


def graph_of(seed: int) -> Writer:
    """The graph of a seed."""
    writer = Writer(seed)
    for _ in range(writer.random.randrange(3, 14)):
        writer.step(LIBRARY_STEPS)
    return writer


def write_tasks(work: Path, seeds: range, device: str) -> dict[int, tuple[Path, Writer]]:
    """Writes the graphs of the seeds that have an operation. Returns folders and writers by seed."""
    tasks = {}
    for seed in seeds:
        writer = graph_of(seed)
        if writer.lines and any(name.startswith("tmp_") for name in writer.values):
            folder = work / "tasks" / f"seed-{seed}"
            writer.write(folder, device)
            tasks[seed] = folder, writer
    return tasks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--passnet", default="passnet", help="the command")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=60, help="no batch begins after that")
    parser.add_argument("--device", default="cpu", help="device of the graphs and of the kernels")
    parser.add_argument("--batch", type=int, default=40, help="graphs that the author is given at a time")
    args = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.set_num_threads(THREADS)
    # The author's kernels do not round the factors of a convolution to TF32.
    torch.backends.cudnn.allow_tf32 = False
    end, first, counts = time.monotonic() + args.seconds, args.seed, dict.fromkeys(KINDS, 0)
    while time.monotonic() < end:
        work = Path(tempfile.mkdtemp(prefix=f"fuzz-author-{first}-"))
        tasks = write_tasks(work, range(first, first + args.batch), args.device)
        command = [args.passnet, "fuse", str(work / "tasks"), "--device", args.device, "--out", str(work / "passes")]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            print(f"the author failed: {' '.join(command)}", flush=True)
            return 1
        for seed, (folder, writer) in tasks.items():
            passes = work / "passes" / folder.name
            if not any(passes.glob("*.json")):
                counts["without passes"] += 1
                continue
            try:
                difference = check(folder, passes, writer, args.device)
            except EagerError:
                counts["not run by eager mode"] += 1
                continue
            except Exception as error:  # A crash of a pass is a finding like a difference.
                difference = f"{type(error).__name__}: {error}"
            counts["different" if difference else "equal"] += 1
            if difference:
                print(f"seed {seed}: {difference}\n  {folder}\n  {passes}", flush=True)
        first += args.batch
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
