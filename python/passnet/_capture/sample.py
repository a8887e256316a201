"""GraphNet samples on disk: one folder per graph.

======================================  ==========================================================================
``model.py``                            class ``GraphModule`` whose ``forward`` is the graph
``weight_meta.py``                      one class per parameter of ``forward``, in its order
``input_meta.py``                       empty, as in all published samples
``input_tensor_constraints.py``         symbolic dimensions; none here, since graphs are captured at concrete shapes
``graph_hash.txt``                      SHA-256 of ``model.py``
``graph_net.json``                      metadata; written last, so a folder that has it is complete
======================================  ==========================================================================

Differences from the published extractor: statistics have six significant digits instead of three decimals, so that a standard
deviation below 0.0005 is not replayed as a constant. Literals have nine digits. A floating-point tensor without negative values has
``min_val = 0``. A symbolic integer has its value. Statistics are those of the values that the graph was captured with. For a large
weight, they are those of a sample that the initialiser filled, and ``graph_net.json`` has ``"statistics": "sampled"``.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

# Tensors with fewer elements are written with all their values.
LITERAL_LIMIT = 64
# Number of elements that statistics are computed of at a time.
_PIECE = 1 << 22

# Namespaces of operators that PyTorch defines.
_NAMESPACES = {"aten", "prim", "prims", "quantized", "sparse", "mkldnn", "inductor", "rngprims"}
_FREE_NAMES = {"torch", "slice", "Ellipsis", "device", "inf", "nan"}
_INTEGER_TYPES = {torch.int8, torch.int16, torch.int32, torch.int64}
_SAMPLE_FILES = ("graph_net.json", "model.py", "weight_meta.py")


class SampleError(RuntimeError):
    """A graph cannot be written as a sample, or a folder is not a sample; the message says why."""


@dataclasses.dataclass(frozen=True)
class TensorMeta:
    """The description of one input of a graph in a sample."""

    name: str
    shape: list[int]
    dtype: str
    device: str
    mean: float | None = None
    std: float | None = None
    data: list[float] | None = None
    min_val: float | None = None
    max_val: float | None = None
    original_name: str | None = None

    @staticmethod
    def measure(
        name: str, value: Any, original_name: str | None = None, sample: torch.Tensor | None = None
    ) -> TensorMeta:
        """Describes `value`, a tensor or a Python number, by the rules of the format.

        If `sample` is given, statistics are those of its elements: `value` is large, and its memory was not filled.
        """
        # `bool` is checked first, because `bool` is a subclass of `int`.
        if isinstance(value, bool) or not isinstance(value, torch.Tensor | int | float):
            raise SampleError(f"input `{name}` is a {type(value).__name__}; a sample holds tensors and integers only")
        tensor = value.detach() if isinstance(value, torch.Tensor) else torch.tensor(value)
        if tensor.is_quantized or tensor.layout != torch.strided:
            raise SampleError(f"input `{name}` is not a plain strided tensor")
        count = tensor.numel()
        if count == 0:
            raise SampleError(f"input `{name}` has no element: shape {list(tensor.shape)}")
        seen = tensor if sample is None else sample.detach()
        fields: dict[str, Any] = {}
        if count < LITERAL_LIMIT and not tensor.is_complex():
            fields["data"] = [_rounded(x, 9) for x in tensor.cpu().flatten().tolist()]
        if tensor.is_floating_point():
            mean, std = _moments(seen)
            fields["mean"], fields["std"] = _rounded(mean, 6), _rounded(std, 6)
            if "data" not in fields and seen.min().item() >= 0:
                fields["min_val"] = 0.0
        elif tensor.dtype in _INTEGER_TYPES and "data" not in fields:
            fields["min_val"], fields["max_val"] = int(seen.min()), int(seen.max())
        return TensorMeta(
            name, list(tensor.shape), str(tensor.dtype), str(tensor.device), original_name=original_name, **fields
        )

    def source(self) -> str:
        """Returns the class of this tensor in ``weight_meta.py``."""
        lines = [f"class Program_weight_tensor_meta_{self.name}:", f'    name = "{self.name}"']
        if self.original_name is not None:
            lines.append(f'    original_name = "{self.original_name}"')
        lines += [
            f"    shape = {self.shape}",
            f'    dtype = "{self.dtype}"',
            f'    device = "{self.device}"',
            f"    mean = {_literal(self.mean)}",
            f"    std = {_literal(self.std)}",
        ]
        if self.data is not None:
            lines.append(f"    data = [{', '.join(_literal(x) for x in self.data)}]")
        # A class of integers with bounds has no line `data`.
        elif self.max_val is None:
            lines.append("    data = None")
        if self.min_val is not None:
            lines.append(f"    min_val = {_literal(self.min_val)}")
        if self.max_val is not None:
            lines.append(f"    max_val = {_literal(self.max_val)}")
        return "\n".join(lines) + "\n"


def model_source(graph: torch.fx.Graph) -> str:
    """Returns the text of ``model.py``. Raises :class:`SampleError` if the graph needs names that samples cannot have."""
    text = "\n".join(line.rstrip() for line in graph.python_code("self").src.strip().splitlines())
    tree = ast.parse(text)
    free = _check_language(tree)
    header = ["import torch"]
    header += [f"from torch import {name}" for name in ("device", "inf", "nan") if name in free]
    body = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    return "\n".join(header) + "\n\n\nclass GraphModule(torch.nn.Module):\n" + body + "\n"


def write_sample(folder: Path, graph: torch.fx.Graph, metas: Sequence[TensorMeta], metadata: Mapping[str, Any]) -> None:
    """Writes one graph; `metas` are in the order of its placeholders."""
    outputs = next(node for node in graph.nodes if node.op == "output").args[0]
    if not isinstance(outputs, list | tuple) or not any(isinstance(x, torch.fx.Node) for x in outputs):
        raise SampleError("the graph returns no tensor")
    source = model_source(graph)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(source)
    (folder / "weight_meta.py").write_text("\n\n".join(meta.source() for meta in metas))
    (folder / "input_meta.py").write_text("")
    (folder / "input_tensor_constraints.py").write_text(_constraints(metas))
    (folder / "graph_hash.txt").write_text(hashlib.sha256(source.encode()).hexdigest())
    fields = {
        "framework": "torch",
        "num_devices_required": 1,
        "num_nodes_required": 1,
        "dynamic": False,
        **metadata,
        "torch_version": torch.__version__,
    }
    if custom := custom_operators(graph):
        fields["custom_operators"] = custom
    (folder / "graph_net.json").write_text(json.dumps(fields, indent=4) + "\n")


@dataclasses.dataclass(frozen=True)
class Part:
    """One graph of a model, and the values of its placeholders."""

    module: torch.fx.GraphModule
    inputs: Sequence[Any]
    folder: str = ""
    """Folder of the graph, relative to the folder of its model; empty for a model of one graph."""
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of the graph's ``graph_net.json`` in addition to those of the model."""


def write_model(
    out: Path,
    name: str,
    parts: Sequence[Part],
    metadata: Mapping[str, Any],
    sample_of: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
) -> list[Path]:
    """Writes the graphs of one model and returns their folders.

    `sample_of` chooses the elements that represent a tensor in the statistics. The folder `out/name` is never incomplete: it is
    written under another name and renamed.
    """
    target = out / name
    # The folder is replaced below. A wrong `--out` must not delete files that are not samples.
    if target.exists() and not _is_sample(target):
        raise SampleError(f"{target} exists and is not a sample; choose another name or remove it")
    if (foreign := _foreign(target)) is not None:
        raise SampleError(
            f"{foreign} is a sample of another model, from an earlier version; use another directory or move it"
        )
    staging = out / f".{name.replace('/', '_')}.partial"
    shutil.rmtree(staging, ignore_errors=True)
    try:
        for part in parts:
            values = part.inputs
            names = [node.target for node in part.module.graph.nodes if node.op == "placeholder"]
            samples = [sample_of(value) if isinstance(value, torch.Tensor) else None for value in values]
            described = zip(names, values, samples, strict=True)
            metas = [TensorMeta.measure(name, value, sample=sample) for name, value, sample in described]
            sampled = any(
                sample is not None and sample is not value for value, sample in zip(values, samples, strict=True)
            )
            statistics = {"statistics": "sampled" if sampled else "measured"}
            write_sample(staging / part.folder, part.module.graph, metas, {**metadata, **statistics, **part.fields})
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            shutil.rmtree(target)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return [target / part.folder for part in parts]


def _is_sample(folder: Path) -> bool:
    """Returns whether a folder is a sample, or contains the samples of a model."""
    return any((place / file).is_file() for place in (folder, *folder.glob("*")) for file in _SAMPLE_FILES)


def _foreign(folder: Path) -> Path | None:
    """Returns a sample of another model in the folder of a model. Earlier versions wrote the classes of a model type there."""
    places = (file.parent for file in sorted(folder.glob("*/**/graph_net.json")))
    own = re.compile(r"subgraph_\d+|eval_forward|train_forward|train_backward")
    return next((place for place in places if not own.fullmatch(str(place.relative_to(folder)))), None)


def custom_operators(graph: torch.fx.Graph) -> list[str]:
    """Returns the operators of the graph that PyTorch does not define. The package that defines them has to be imported before a run."""
    targets = [node.target for node in graph.nodes if node.op == "call_function"]
    # A target is one overload of an operator, or all overloads of a name.
    names = {target._schema.name for target in targets if hasattr(target, "_schema")}
    names |= {target._qualified_op_name for target in targets if hasattr(target, "_qualified_op_name")}
    return sorted(name for name in names if name.partition("::")[0] not in _NAMESPACES)


def _check_language(tree: ast.Module) -> set[str]:
    """Checks that the printed `forward` uses only names that samples may use. Returns its free names."""
    function = tree.body[0]
    if len(tree.body) != 1 or not isinstance(function, ast.FunctionDef):
        raise SampleError("the graph needs more than one function")
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    local = {arg.arg for arg in function.args.args} | {node.id for node in names if isinstance(node.ctx, ast.Store)}
    free = {node.id for node in names if isinstance(node.ctx, ast.Load)} - local
    if unknown := sorted(free - _FREE_NAMES):
        statement = next(
            ast.unparse(line)
            for line in function.body
            if any(isinstance(node, ast.Name) and node.id in unknown for node in ast.walk(line))
        )
        raise SampleError(f"`{statement}` uses `{unknown[0]}`, which the sample format does not allow")
    return free


def _constraints(metas: Sequence[TensorMeta]) -> str:
    shapes = "".join(f'    ({meta.shape}, "{meta.name}"),\n' for meta in sorted(metas, key=lambda meta: meta.name))
    return (
        "dynamic_dim_constraint_symbols = []\n\n"
        "dynamic_dim_constraint_symbol2example_value = {}\n\n"
        "dynamic_dim_constraint_relations = []\n\n"
        f"dynamic_dim_constraint_input_shapes = [\n{shapes}]\n"
    )


def _moments(tensor: torch.Tensor) -> tuple[float, float]:
    """Returns the mean and the unbiased standard deviation (0 for a single element). Sums are in float64 and in pieces, so that no
    copy of a large tensor is made."""
    pieces = tensor.flatten().split(_PIECE)
    mean = sum(piece.double().sum().item() for piece in pieces) / tensor.numel()
    if tensor.numel() == 1:
        return mean, 0.0
    squares = sum((piece.double() - mean).square().sum().item() for piece in pieces)
    return mean, math.sqrt(squares / (tensor.numel() - 1))


def _rounded(value: float, digits: int) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return float(f"{value:.{digits}g}")


def _literal(value: float | None) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)
