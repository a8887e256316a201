"""Random graphs for the built-in author: its passes and eager mode must agree.

    python fuzz/author.py --seconds 600 --passnet target/debug/passnet

Writes graphs of random operations, shapes, strides and types as tasks, has the author write passes for them, applies these as the
referee does, and compares results, types, strides and the memory of the inputs on a CPU. Each difference is printed with its
seed; the task and its passes stay in the work folder. Needs `PYTHONPATH=python` and `PASSNET_SITE`, as the tests do.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from passnet._passes.load import PassDirectory
from passnet._passes.rewrite import rewrite
from passnet._passes.trace import trace_pattern

Tensor = torch.Tensor
FLOATS = (torch.float32, torch.float32, torch.float16, torch.bfloat16)
EXTENTS = (1, 2, 3, 5, 8, 16, 17, 31, 40, 64, 130)
MOST_ELEMENTS = 1 << 17
# Kernels are split over as many; their results have the bits of one thread.
THREADS = 3
# Relative and absolute tolerance at t = -3 (docs/reference/scoring.md).
TOLERANCE = {torch.float32: (2.9e-4, 1e-3), torch.float16: (1.6e-2, 1e-3), torch.bfloat16: (8.4e-2, 1e-3)}


class Writer:
    """Writes a graph line by line and runs it at the same time, so that shapes are known."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.inputs: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}
        self.lines: list[str] = []
        self.dtype = self.random.choice(FLOATS)
        shape = [self.random.choice(EXTENTS) for _ in range(self.random.choice((1, 2, 3, 3, 4)))]
        while torch.Size(shape).numel() > MOST_ELEMENTS:
            shape[self.random.randrange(len(shape))] = 2
        self.shape = tuple(shape)
        self.input(self.shape)

    def input(self, shape: tuple[int, ...]) -> str:
        name = f"in_{len(self.inputs)}"
        self.inputs[name] = torch.randn(shape).to(self.dtype)
        self.values[name] = self.inputs[name].clone()
        return name

    def pick(self, where: Callable[[Tensor], bool] = lambda value: value.is_floating_point()) -> str | None:
        names = [name for name, value in self.values.items() if where(value)]
        # Late values more often: graphs become deep.
        return names[max(self.random.randrange(len(names)), self.random.randrange(len(names)))] if names else None

    def emit(self, text: str) -> None:
        """Adds `tmp = text` where it runs and its result is of a size that is fast to compute."""
        try:
            value = eval(text, {"torch": torch}, self.values)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return
        if not isinstance(value, Tensor) or not 0 < value.numel() <= MOST_ELEMENTS:
            return
        if value.is_floating_point() and not bool(value.isfinite().all()):
            return
        name = f"tmp_{len(self.lines)}"
        self.values[name] = value
        self.lines.append(f"{name} = {text}")

    def change(self, text: str) -> None:
        """Adds a statement that changes a value."""
        try:
            exec(text, {"torch": torch}, self.values)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return
        self.lines.append(text)

    def step(self) -> None:
        x = self.pick()
        if x is None:
            return
        self.random.choice(
            (
                self.of_one,
                self.of_two,
                self.of_two,
                self.reduction,
                self.view,
                self.joined,
                self.cast,
                self.in_place,
                self.chosen,
            )
        )(x)

    def of_one(self, x: str) -> None:
        forms = (
            "torch.relu({x})",
            "torch.sigmoid({x})",
            "torch.tanh({x})",
            "torch.nn.functional.gelu({x})",
            "torch.nn.functional.silu({x})",
            "torch.nn.functional.softplus({x})",
            "{x} * 0.125",
            "{x} + 1.5",
            "torch.exp(-{x}.abs())",
            "torch.clamp({x}, -1.0, 0.5)",
            "{x}.pow(2)",
            "1.0 - {x}",
            "{x}.contiguous()",
        )
        self.emit(self.random.choice(forms).format(x=x))

    def of_two(self, x: str) -> None:
        rank = self.values[x].dim()
        y = self.pick(lambda value: value.is_floating_point() and value.dtype == self.values[x].dtype)
        if self.random.random() < 0.4 and rank:
            shape = tuple(n if self.random.random() < 0.5 else 1 for n in self.values[x].shape)
            y = self.input(shape[self.random.randrange(rank) :])
        self.emit(f"{x} {self.random.choice('+-*')} {y}")

    def reduction(self, x: str) -> None:
        rank = self.values[x].dim()
        if not rank:
            return
        dim, keep = self.random.randrange(rank), self.random.random() < 0.6
        shape = tuple(self.values[x].shape)
        weight = self.input(shape[-1:]) if self.random.random() < 0.5 else None
        forms = [
            f"{x}.mean({dim}, keepdim={keep})",
            f"{x}.sum({dim}, keepdim={keep})",
            f"{x}.amax({dim}, {keep})",
            f"torch.nn.functional.softmax({x}, {dim})",
            f"torch.nn.functional.softmax({x}, -1)",
            f"torch.nn.functional.layer_norm({x}, {shape[-1:]}, {weight}, None, 1e-05)",
            f"torch.rms_norm({x}, {shape[-1:]}, {weight}, 1e-05)",
        ]
        if rank > 1:
            other = (dim + 1) % rank
            forms.append(f"{x}.mean(({min(dim, other)}, {max(dim, other)}), keepdim={keep})")
        self.emit(self.random.choice(forms))

    def view(self, x: str) -> None:
        value, rank = self.values[x], self.values[x].dim()
        if not rank:
            return
        a, b = self.random.randrange(rank), self.random.randrange(rank)
        extent = value.shape[a]
        start = self.random.randrange(extent)
        order = self.random.sample(range(rank), rank)
        where = ", ".join([":"] * a + [f"{start}:"])
        forms = [
            f"{x}.transpose({a}, {b})",
            f"{x}.permute({tuple(order)})",
            f"{x}.unsqueeze({a})",
            f"{x}[{where}]",
            f"{x}.reshape(-1, {value.shape[-1]})",
            f"{x}.flatten({min(a, b)}, {max(a, b)})",
            f"{x}[None]",
            f"{x}.unsqueeze(0).expand(2, {', '.join(['-1'] * rank)})",
            f"{x}.chunk(2, {a})[0]",
            f"{x}.roll(1, {a})",
            f"{x}.gather({a}, torch.zeros_like({x}, dtype=torch.long))",
            f"{x}[{', '.join([':'] * a + [f'torch.arange({extent}) - 1'])}]",
            f"{x}[torch.arange(2)[:, None] - 1, torch.arange({value.shape[min(1, rank - 1)]})]",
        ]
        self.emit(self.random.choice(forms))

    def joined(self, x: str) -> None:
        rank = self.values[x].dim()
        if not rank:
            return
        dim = self.random.randrange(rank)
        y = self.pick(lambda value: value.shape == self.values[x].shape and value.dtype == self.values[x].dtype)
        forms = (
            f"torch.cat([{x}, {y}], {dim})",
            f"torch.cat([{x}.float(), {y}], {dim})",
            f"torch.stack([{x}, {y}], {dim})",
            f"torch.nn.functional.pad({x}, (1, 2))",
        )
        self.emit(self.random.choice(forms))

    def cast(self, x: str) -> None:
        # Jumps only of inputs: elsewhere one rounding may be on the other side of one.
        given = self.random.choice(list(self.inputs))
        self.emit(
            self.random.choice(
                (
                    f"{x}.float()",
                    f"{x}.to({self.dtype})",
                    f"({given} > 0).to({self.dtype})",
                    f"{x} * ({given} * 100).long()",
                )
            )
        )

    def in_place(self, x: str) -> None:
        value = self.values[x]
        forms = [f"{x}.add_(1.0)", f"{x}.mul_(0.5)", f"{x} += 0.25", f"{x}.relu_()"]
        if value.dim():
            forms += [f"{x}[0] = 0.5", f"{x}[..., 1:] = 2.0"]
        # Only what the graph made itself, and most of the time no view: most graphs change nothing else.
        if not x.startswith("in_") and self.random.random() < 0.3:
            self.change(self.random.choice(forms))

    def chosen(self, x: str) -> None:
        y = self.pick(lambda value: value.shape == self.values[x].shape and value.dtype == self.values[x].dtype)
        given = self.random.choice(list(self.inputs))
        forms = (
            f"torch.where({given} > 0.1, {x}, {y})",
            f"{x}.masked_fill({given} < 0, 0.25)",
            f"torch.maximum({x}, {y})",
        )
        self.emit(self.random.choice(forms))

    def write(self, folder: Path) -> None:
        """Writes the graph as the only sample of a task, in the layout of GraphNet."""
        used = " ".join(self.lines)
        results = [name for name in self.values if name.startswith("tmp_")]
        ends = [name for name in results if not _is_read(name, self.lines)] or results[-1:]
        inputs = [name for name in self.inputs if name in used]
        body = "".join(f"        {line}\n" for line in self.lines)
        module = (
            f"import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(inputs)}):\n"
            f"{body}        return ({', '.join(ends)},)\n"
        )
        place = folder / "000"
        place.mkdir(parents=True)
        (place / "model.py").write_text(module)
        (place / "weight_meta.py").write_text("")
        metas = (
            f'class Program_weight_tensor_meta_{name}:\n    name = "{name}"\n    shape = {list(self.inputs[name].shape)}\n'
            f'    dtype = "{self.inputs[name].dtype}"\n    device = "cpu"\n    mean = 0.0\n    std = 1.0\n    data = None\n'
            for name in inputs
        )
        (place / "input_meta.py").write_text("\n".join(metas))
        (place / "graph_net.json").write_text(json.dumps({"framework": "torch", "model_name": folder.name}))


def _is_read(name: str, lines: list[str]) -> bool:
    return any(
        name
        in line.replace(",", " ")
        .replace(")", " ")
        .replace("(", " ")
        .replace(".", " ")
        .replace("[", " ")
        .replace("]", " ")
        .split()[1:]
        for line in lines
    )


def _steps(value: Tensor) -> list[int]:
    """Strides of the dimensions that have two elements. Those of others move to no element: the referee does not compare them, and PyTorch
    does not give the same to tensors with and without content."""
    return [stride for extent, stride in zip(value.shape, value.stride(), strict=True) if extent > 1]


def _has_bits_of(a: Tensor, b: Tensor) -> bool:
    # Copies: the elements of an expanded tensor share memory, and cannot be viewed as bytes.
    one, other = (value.clone(memory_format=torch.contiguous_format).reshape(-1) for value in (a, b))
    return torch.equal(one.view(torch.uint8), other.view(torch.uint8))


def check(folder: Path, passes: Path, seed: int) -> str | None:
    """The difference between eager mode and the rewritten graph; `None` where they agree."""
    text = (folder / "000" / "model.py").read_text()
    space: dict[str, Any] = {"torch": torch}
    exec(textwrap.dedent(text[text.index("    def forward") :]).replace("self, ", ""), space)

    def module() -> torch.fx.GraphModule:
        return torch.fx.GraphModule({}, trace_pattern(space["forward"]))

    names = [node.name for node in module().graph.nodes if node.op == "placeholder"]
    writer = graph_of(seed)
    rewritten = rewrite(module(), PassDirectory.load(passes).passes)
    missed = [report.name for report in rewritten.passes if not report.matches]

    def run(of: torch.fx.GraphModule, threads: int) -> list[Tensor]:
        """Results, then inputs as they are afterwards."""
        inputs = [writer.inputs[name].clone() for name in names]
        torch.set_num_threads(threads)
        return [*of(*inputs), *inputs]

    expected_of_one, expected = (run(module(), threads) for threads in (1, THREADS))
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
            # What is small against the others of its tensor may be a difference of these.
            scale = a.double().abs().clamp_min(a.double().abs().mean())
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
        writer.step()
    return writer


def write_tasks(work: Path, seeds: range) -> dict[int, Path]:
    """Writes the graphs of the seeds that have an operation."""
    tasks = {}
    for seed in seeds:
        writer = graph_of(seed)
        if writer.lines and any(name.startswith("tmp_") for name in writer.values):
            tasks[seed] = work / "tasks" / f"seed-{seed}"
            writer.write(tasks[seed])
    return tasks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--passnet", default="passnet", help="the command")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=60, help="no batch begins after that")
    parser.add_argument("--batch", type=int, default=40, help="graphs that the author is given at a time")
    args = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.set_num_threads(THREADS)
    end, first, counts = time.monotonic() + args.seconds, args.seed, {"equal": 0, "without passes": 0, "different": 0}
    while time.monotonic() < end:
        work = Path(tempfile.mkdtemp(prefix=f"fuzz-author-{first}-"))
        tasks = write_tasks(work, range(first, first + args.batch))
        command = [args.passnet, "fuse", str(work / "tasks"), "--device", "cpu", "--out", str(work / "passes")]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            print(f"the author failed: {' '.join(command)}", flush=True)
            return 1
        for seed, folder in tasks.items():
            passes = work / "passes" / folder.name
            if not any(passes.glob("*.json")):
                counts["without passes"] += 1
                continue
            try:
                difference = check(folder, passes, seed)
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
