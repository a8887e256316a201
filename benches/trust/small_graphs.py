"""Writes a suite of graphs that take about 2 us in eager mode on a CPU: `small_graphs.py FOLDER COUNT`.

Such graphs show best whether intervals are right: the noise of a machine is large next to them. Each is one operation on one or two
small tensors.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

OPERATIONS = (
    "torch.nn.functional.relu(in_0, inplace=False)",
    "in_0 + in_1",
    "in_0 * in_1",
    "in_0 - in_1",
    "torch.neg(in_0)",
    "torch.abs(in_0)",
    "torch.sigmoid(in_0)",
    "torch.tanh(in_0)",
    "torch.maximum(in_0, in_1)",
    "in_0.clone()",
    "torch.square(in_0)",
    "torch.nn.functional.gelu(in_0)",
)
# Rows, and columns that no two graphs of an operation share.
ROWS = (1, 2, 4)


def meta(name: str, shape: list[int]) -> str:
    return f"""class Program_weight_tensor_meta_{name}:
    name = "{name}"
    original_name = "{name}"
    shape = {shape}
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.05
    std = 1.0
    data = None
"""


def model(operation: str, names: list[str]) -> str:
    return f"""import torch


class GraphModule(torch.nn.Module):
    def forward(self, {", ".join(names)}):
        tmp_0 = {operation}
        return (tmp_0,)
"""


def write_task(folder: Path, task: str, operation: str, shape: list[int]) -> dict[str, object]:
    """Writes a graph of one operation to the suite in `folder`. Returns its task."""
    names = [name for name in ("in_0", "in_1") if name in operation]
    sample = folder / task / "000"
    sample.mkdir(parents=True)
    (sample / "model.py").write_text(model(operation, names))
    (sample / "weight_meta.py").write_text("\n\n".join(meta(name, shape) for name in names))
    (sample / "input_meta.py").write_text("")
    (sample / "graph_hash.txt").write_text("")
    facts = {"framework": "torch", "num_devices_required": 1, "num_nodes_required": 1, "dynamic": False}
    facts |= {"source": "passnet-benches", "model_name": task, "dtype": "float32"}
    (sample / "graph_net.json").write_text(json.dumps(facts, indent=4))
    return {"id": task, "ops": [operation], "graphs": ["000"]}


def write_suite(folder: Path, name: str, description: str, tasks: list[dict[str, object]]) -> None:
    suite = {"schema_version": 1, "name": name, "version": "1", "split": "eval", "tasks": tasks}
    (folder / "suite.json").write_text(json.dumps(suite | {"description": description}, indent=1))


def main(folder: Path, count: int) -> None:
    shapes = ([rows, 16 + step] for step in itertools.count() for rows in ROWS)
    graphs = ((operation, shape) for shape in shapes for operation in OPERATIONS)
    tasks = [
        write_task(folder, f"small-{number:03}", operation, shape)
        for number, (operation, shape) in enumerate(itertools.islice(graphs, count))
    ]
    write_suite(folder, "small-graphs", "Graphs of one operation on small tensors.", tasks)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
