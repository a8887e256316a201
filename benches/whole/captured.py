"""A sample of `passnet extract` as a module: its weights as state, or as arguments of each call."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import torch

from passnet._services.inputs import make_inputs
from passnet._worker.float64 import everything

_WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64}


class Sample:
    """The graph and the inputs of a folder; `weights` is `static` or `inputs`."""

    def __init__(self, folder: Path, device: str, weights: str) -> None:
        self.device = device
        metas = _metas((folder / "weight_meta.py").read_text())
        values = make_inputs(metas)
        state = {meta["name"] for meta in metas if weights == "static" and _is_state(meta["name"])}
        self.source = _source((folder / "model.py").read_text(), device, state)
        named = list(zip((meta["name"] for meta in metas), values, strict=True))
        self.state = {name: value for name, value in named if name in state}
        self.values = [value for name, value in named if name not in state]

    def module(self, *, wide: bool = False) -> torch.nn.Module:
        """The graph with its weights on the device; `wide` for those in float64."""
        scope: dict[str, Any] = {}
        exec(compile(self.source, "model.py", "exec"), scope)
        module = scope["GraphModule"]()
        for name, value in self.state.items():
            placed = self._placed(value, wide)
            if placed.is_floating_point():
                module.register_parameter(name, torch.nn.Parameter(placed, requires_grad=False))
            else:
                module.register_buffer(name, placed)
        return module.eval()

    def inputs(self, *, wide: bool = False) -> list[torch.Tensor]:
        """Arguments of a call on the device."""
        return [self._placed(value, wide) for value in self.values]

    def exact(self) -> Any:
        """The results in float64; None where the graph has none."""
        module, inputs = self.module(wide=True), self.inputs(wide=True)
        try:
            with everything():
                return module(*inputs)
        except Exception:
            return None

    def _placed(self, value: torch.Tensor, wide: bool) -> torch.Tensor:
        return value.to(self.device, _WIDE.get(value.dtype, value.dtype) if wide else value.dtype)


def _is_state(name: str) -> bool:
    """The rule of `passnet_run::Sample::weights`."""
    return "l_self_" in name.lower() or name.startswith("L_constant_")


def _metas(text: str) -> list[dict[str, Any]]:
    scope: dict[str, Any] = {}
    exec(text, scope)
    described = [vars(value) for value in scope.values() if isinstance(value, type)]
    return [
        {"data": None, **fields, "dtype": fields["dtype"].removeprefix("torch.")}
        for fields in described
        if "shape" in fields
    ]


def _source(text: str, device: str, state: set[str]) -> str:
    """The text of the graph for a device, with these parameters of `forward` as attributes."""
    tree = _OnDevice(device).visit(ast.parse(text))
    forward = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "forward")
    forward.args.args = [argument for argument in forward.args.args if argument.arg not in state]
    forward.body[:0] = [ast.parse(f"{name} = self.{name}").body[0] for name in sorted(state)]
    return ast.unparse(ast.fix_missing_locations(tree))


class _OnDevice(ast.NodeTransformer):
    """Graphs are captured on the CPU, which their text names."""

    def __init__(self, device: str) -> None:
        self.device = device

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(self.device) if node.value == "cpu" else node
