"""Random graphs for the fuzzers: operations of all kinds on tensors of all types, written line by line."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

Tensor = torch.Tensor
FLOATS = (torch.float32, torch.float32, torch.float16, torch.bfloat16)
EXTENTS = (1, 2, 3, 5, 8, 16, 17, 31, 40, 64, 130)
MOST_ELEMENTS = 1 << 17
DIVISIONS = ("fmod", "remainder", "floor_divide")


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

    def emit(self, text: str) -> str | None:
        """Adds `tmp = text` where it runs and its result is of a size that is fast to compute. Returns the name."""
        try:
            value = eval(text, {"torch": torch}, self.values)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return None
        if not isinstance(value, Tensor) or value.numel() > MOST_ELEMENTS:
            return None
        if value.is_floating_point() and not bool(value.isfinite().all()):
            return None
        name = f"tmp_{len(self.lines)}"
        self.values[name] = value
        self.lines.append(f"{name} = {text}")
        return name

    def change(self, text: str) -> None:
        """Adds a statement that changes a value."""
        try:
            exec(text, {"torch": torch}, self.values)
        except (RuntimeError, IndexError, ValueError, TypeError):
            return
        self.lines.append(text)

    def step(self, further: Sequence[Callable[[Writer, str], None]]) -> None:
        """Adds a random step, which may be one of these further ones."""
        x = self.pick()
        if x is None:
            return
        often = (self.of_one, self.of_two, self.reduction, self.view, self.joined)
        places = (self.in_place, self.layout, self.window)
        seldom = (*places, self.cast, self.chosen, self.normal, self.whole, self.logical, self.constant)
        self.random.choice((*often, *often, *seldom, *(partial(step, self) for step in further)))(x)

    def constant(self, x: str) -> None:
        """Tensors whose elements the author knows, and what is computed from them alone."""
        number = self.random.choice(("0.7", "-0.3", "2", "0.0", "1e-3"))
        forms = (
            f"torch.full_like({x}, {number})",
            f"torch.zeros_like({x})",
            f"torch.ones_like({x}) * {number}",
            f"torch.exp(torch.full_like({x}, {number}))",
            f"torch.full_like({x}, {number}).pow(3).float()",
            f"torch.cat([{x}, torch.full_like({x}, {number})], 0)",
            f"torch.nn.functional.pad({x}, (1, 2), value={number})",
        )
        self.emit(self.random.choice(forms))

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
            "torch.expm1({x}.clamp(-3, 3))",
            "torch.log1p({x}.abs())",
            "torch.rsqrt({x}.abs() + 1.0)",
            "torch.sin({x})",
            "torch.cos({x})",
            "torch.erf({x})",
            "torch.nn.functional.mish({x})",
            "torch.nn.functional.elu({x})",
            "torch.nn.functional.hardswish({x})",
            "torch.nn.functional.leaky_relu({x}, 0.1)",
            "torch.nn.functional.gelu({x}, approximate='tanh')",
            "torch.reciprocal({x}.abs() + 1.0)",
            "{x}.pow(3)",
            "{x} / 3",
        )
        self.emit(self.random.choice(forms).format(x=x))

    def of_two(self, x: str) -> None:
        rank = self.values[x].dim()
        y = self.pick(lambda value: value.is_floating_point() and value.dtype == self.values[x].dtype)
        if self.random.random() < 0.4 and rank:
            shape = tuple(n if self.random.random() < 0.5 else 1 for n in self.values[x].shape)
            y = self.input(shape[self.random.randrange(rank) :])
        z = self.pick(lambda value: value.is_floating_point() and value.dtype == self.values[x].dtype)
        number = self.random.choice(("0", "0.3", "0.5", "0.75", "1", "-2"))
        forms = (
            f"{x} + {y}",
            f"{x} - {y}",
            f"{x} * {y}",
            f"torch.addcmul({x}, {y}, {z})",
            f"torch.addcmul({z}, {y}, {x}, value=0.3)",
            f"{x} / ({y}.abs() + 1.0)",
            f"torch.addcdiv({x}, {z}, {y}.abs() + 1.0, value={number})",
            f"torch.lerp({x}, {y}, {number})",
            f"torch.{self.random.choice(('add', 'sub', 'rsub'))}({x}, {y}, alpha={number})",
        )
        self.emit(self.random.choice(forms))

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
        start = self.random.randrange(max(1, extent))
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

    def layout(self, x: str) -> None:
        """Copies, other layouts, and parts, some of them without elements."""
        value, rank = self.values[x], self.values[x].dim()
        if not rank:
            return
        a = self.random.randrange(rank)
        where = ", ".join([":"] * a)
        forms = [
            f"{x}.flip({a})",
            f"{x}.clone()",
            f"{x}.repeat({', '.join(['1'] * (rank - 1) + ['2'])})",
            f"{x}.repeat_interleave(2, {a})",
            f"{x}[{where + ', ' if a else ''}::2]",
            f"{x}.narrow({a}, {value.shape[a] // 2}, {value.shape[a] - value.shape[a] // 2})",
            f"{x}.split({max(1, value.shape[a] // 2)}, {a})[-1]",
            f"{x}.unbind({a})[0]",
            f"{x}.transpose({a}, -1).contiguous()",
            f"{x}.roll({value.shape[a] // 3}, {a}).roll(1, -1)",
            f"torch.triu({x})",
            f"torch.tril({x}, 1)",
        ]
        if rank == 4:
            forms += [f"{x}.contiguous(memory_format=torch.channels_last)"] * 3
        if self.random.random() < 0.1:
            forms = [f"{x}.narrow({a}, 0, 0)"]
        self.emit(self.random.choice(forms))

    def window(self, x: str) -> None:
        x = self.pick(lambda value: value.is_floating_point() and value.dim() == 4) or x
        functional = "torch.nn.functional"
        forms = (
            f"{functional}.max_pool2d({x}, 2)",
            f"{functional}.max_pool2d({x}, 3, 2, 1)",
            f"{functional}.avg_pool2d({x}, 2)",
            f"{functional}.avg_pool2d({x}, 3, 1, 1)",
            f"{functional}.adaptive_avg_pool2d({x}, 1)",
            f"{functional}.interpolate({x}, scale_factor=2.0)",
            f"{functional}.interpolate({x}, scale_factor=2.0, mode='bilinear', align_corners=False)",
            f"{functional}.interpolate({x}, size=(7, 9), mode='bilinear', align_corners=True)",
            f"{functional}.unfold({x}, 2)",
        )
        self.emit(self.random.choice(forms))

    def normal(self, x: str) -> None:
        """Statistics along dimensions, and layers made of them."""
        rank = self.values[x].dim()
        if not rank:
            return
        dim = self.random.randrange(rank)
        channels = self.values[x].shape[min(1, rank - 1)]
        scale, shift = (self.input((channels,)) for _ in range(2))
        norms = self.input(tuple(extent if place == dim else 1 for place, extent in enumerate(self.values[x].shape)))
        forms = (
            f"torch._weight_norm({x}, {norms}, {dim})",
            f"{x}.var({dim}, keepdim=True)",
            f"{x}.std({dim}, correction=0)",
            f"torch.logsumexp({x}, {dim})",
            f"torch.log_softmax({x}, {dim})",
            f"torch.cumsum({x}, {dim})",
            f"torch.nn.functional.normalize({x}, dim={dim})",
            f"torch.nn.functional.group_norm({x}, {2 if channels % 2 == 0 else 1}, {scale}, {shift})",
            f"torch.nn.functional.batch_norm({x}, {shift}, {scale}.abs() + 0.5, {scale}, {shift})",
            f"torch.nn.functional.glu({x}, {dim})",
            f"{x}.amin({dim}, keepdim=True) + {x}",
        )
        self.emit(self.random.choice(forms))

    def whole(self, _: str) -> None:
        """Integers, made of an input: other values may be on the other side of a rounding."""
        x = self.pick(lambda value: value.dtype in (torch.int64, torch.int32))
        if x is None or self.random.random() < 0.3:
            given = self.random.choice([name for name in self.inputs if self.inputs[name].is_floating_point()])
            self.emit(f"({given} * 10).{self.random.choice(('long', 'int'))}()")
            return
        y = self.pick(lambda value: value.dtype == self.values[x].dtype)
        dim = self.random.randrange(max(1, self.values[x].dim()))
        by = self.random.choice((3, 7, -2, 1, -1, 100))
        forms = (
            f"{x} + {y}",
            f"{x} * {y}",
            f"torch.{self.random.choice(DIVISIONS)}({x}, {by})",
            f"torch.remainder({x}, {y}.abs() + 1)",
            f"{x} - 3",
            f"{x}.abs()",
            f"{x}.clamp(-4, 5)",
            f"{x}.sum({dim})",
            f"{x}.amax({dim}, keepdim=True) - {x}",
            f"torch.cumsum({x}, {dim})",
            f"torch.cat([{x}, {y}], {dim})",
            f"{x}.to({self.dtype}) * 0.01",
            f"{x}.transpose(0, -1)",
        )
        self.emit(self.random.choice(forms))

    def logical(self, _: str) -> None:
        x = self.pick(lambda value: value.dtype == torch.bool)
        whole = self.pick(lambda value: value.dtype in (torch.int64, torch.int32))
        if x is None or self.random.random() < 0.3:
            given = whole or self.random.choice(list(self.inputs))
            self.emit(f"{given} {self.random.choice(('>', '<=', '==', '!='))} {self.random.choice((0, 1))}")
            return
        y = self.pick(lambda value: value.dtype == torch.bool)
        dim = self.random.randrange(max(1, self.values[x].dim()))
        forms = (
            f"{x} & {y}",
            f"{x} | {y}",
            f"{x} ^ {y}",
            f"~{x}",
            f"{x}.any({dim})",
            f"{x}.all({dim})",
            f"{x}.to({self.dtype})",
            f"{x}.long().cumsum({dim})",
            f"torch.cat([{x}, {y}], {dim})",
            f"torch.where({x}, 1.0, 0.25)",
        )
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
            f"torch.nn.functional.pad({x}, (1, 1, 2, 0))",
            f"torch.cat([{x}, {x} * 2.0, {y}], {dim})",
        )
        self.emit(self.random.choice(forms))

    def cast(self, x: str) -> None:
        # Jumps only of inputs: elsewhere one rounding may be on the other side of one.
        given, by = self.random.choice(list(self.inputs)), self.random.choice(("2", "-1.5", "0.7"))
        self.emit(
            self.random.choice(
                (
                    f"torch.{self.random.choice(DIVISIONS)}({given}, {by}) + {x}",
                    f"torch.div({given}, {by}, rounding_mode='trunc')",
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

    def write(self, folder: Path, device: str = "cpu") -> None:
        """Writes the graph as the only sample of a task, in the layout of GraphNet, as if it were captured on `device`."""
        used = " ".join(self.lines)
        results = [name for name in self.values if name.startswith("tmp_")]
        ends = [name for name in results if not _is_read(name, self.lines)] or results[-1:]
        inputs = [name for name in self.inputs if name in used]
        body = "".join(f"        {line}\n" for line in self.lines)
        module = (
            f"import torch\n\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, {', '.join(inputs)}):\n"
            f"{body}        return ({', '.join(ends)},)\n"
        )
        if device != "cpu":
            # The referee names devices with their number, and so does the author.
            module = re.sub(r"torch\.arange\((\d+)\)", rf'torch.arange(\1, device="{device}:0")', module)
        place = folder / "000"
        place.mkdir(parents=True)
        (place / "model.py").write_text(module)
        (place / "weight_meta.py").write_text("")
        metas = (
            f'class Program_weight_tensor_meta_{name}:\n    name = "{name}"\n    shape = {list(self.inputs[name].shape)}\n'
            f'    dtype = "{self.inputs[name].dtype}"\n    device = "{device}"\n    mean = 0.0\n    std = 1.0\n    data = None\n'
            for name in inputs
        )
        (place / "input_meta.py").write_text("\n".join(metas))
        (place / "graph_net.json").write_text(json.dumps({"framework": "torch", "model_name": folder.name}))


def _is_read(name: str, lines: list[str]) -> bool:
    return any(name in re.split(r"[\s,().\[\]]+", line)[1:] for line in lines)
