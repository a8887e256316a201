"""Passes of the built-in author for a function, as `passnet.compile` gets them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
import torch.fx

from passnet import _native
from passnet._backend import author
from passnet._passes.canonical import canonical_calls


class _Typist(torch.fx.Interpreter):
    def run_node(self, node: torch.fx.Node) -> Any:
        result = super().run_node(node)
        node.meta["example_value"] = result
        return result


def texts(function: Any, arguments: tuple[Any, ...], device: str, judged: str = "") -> list[str]:
    """The texts of the author's passes for a device, for a graph with values on that device or on the CPU."""
    graph = torch.fx.symbolic_trace(function)
    _Typist(graph).run(*arguments)
    wire, kinds = author._typed(
        graph.graph, next((a.device.type for a in arguments if isinstance(a, torch.Tensor)), "cpu")
    )
    canonical = json.dumps(canonical_calls(graph.graph))
    return [text for _, text in _native.write_passes(wire, kinds, device, judged, canonical)]


def load(text: str, folder: Path) -> Any:
    """A pass as a module; kernels read their own source."""
    path = folder / "written.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("written", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_on_cuda(file: str, folder: Path) -> None:
    """Runs a test file as a program with a folder of passes for CUDA: on a GPU, or in Triton's interpreter where there is none."""
    environment = {**os.environ, **({} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"})}
    run = subprocess.run(
        [sys.executable, file, str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
