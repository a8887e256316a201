"""torch_geometric: models of graphs and of molecules, on one small random graph.

Models are left out that need a compiled extension (DimeNet, GNNFF, ViSNet, Node2Vec), or more than tensors as inputs (GPSE, LPFormer, RENet,
TGNMemory, MetaPath2Vec), or that only wrap another model (GAE, VGAE, ARGA, ARGVA, CorrectAndSmooth, MetaLayer). GraphUNet is left out because its parts have inputs
without elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch_geometric import nn
from torch_geometric.nn import models

from passnet._zoo import BuildOptions, BuiltModel, Call, Recipe, by_name

# Numbers of nodes, directed edges, features of a node, hidden features, classes and atoms.
_NODES, _EDGES, _FEATURES, _HIDDEN, _CLASSES, _ATOMS = 34, 156, 16, 64, 7, 12
_EDGE_FEATURES = 8
_DEGREE = torch.tensor([0, 2, 8, 10, 8, 4, 2])


def _nodes() -> torch.Tensor:
    return torch.randn(_NODES, _FEATURES)


def _edges(count: int = _EDGES) -> torch.Tensor:
    """Returns edges between random nodes, none from a node to itself."""
    source = torch.randint(0, _NODES, (count,))
    return torch.stack([source, (source + torch.randint(1, _NODES, (count,))) % _NODES])


def _batch() -> torch.Tensor:
    """Returns the graph of each node: there are two graphs."""
    return torch.arange(_NODES) * 2 // _NODES


def _graph() -> tuple[Any, ...]:
    return (_nodes(), _edges())


def _batched() -> tuple[Any, ...]:
    return (_nodes(), _edges(), _batch())


def _molecule() -> tuple[Any, ...]:
    return (torch.randint(1, 10, (_ATOMS,)), torch.randn(_ATOMS, 3) * 2, torch.zeros(_ATOMS, dtype=torch.int64))


def _all_pairs(positions: torch.Tensor, _batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns all pairs of atoms and their distances. The default of the library, which finds near atoms, is a compiled extension."""
    pairs = torch.combinations(torch.arange(_ATOMS)).T
    return pairs, (positions[pairs[0]] - positions[pairs[1]]).norm(dim=-1)


def _flipped(x: torch.Tensor, edge_index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.flip(0), edge_index


def _mean(z: torch.Tensor, *_args: Any) -> torch.Tensor:
    return z.mean(dim=0).sigmoid()


def _basic(name: str, **options: Any) -> tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]:
    return lambda: getattr(models, name)(_FEATURES, _HIDDEN, 3, _CLASSES, **options), _graph


_THREE = (_FEATURES, _HIDDEN, _CLASSES)
_MODELS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]] = {
    "ARLinkPredictor": (lambda: models.ARLinkPredictor(_FEATURES, _HIDDEN, 32), _graph),
    "AttentiveFP": (
        lambda: models.AttentiveFP(*_THREE, edge_dim=_EDGE_FEATURES, num_layers=2, num_timesteps=2),
        lambda: (_nodes(), _edges(), torch.randn(_EDGES, _EDGE_FEATURES), _batch()),
    ),
    "DeepGCNLayer": (
        lambda: models.DeepGCNLayer(nn.GENConv(_FEATURES, _FEATURES), nn.LayerNorm(_FEATURES), torch.nn.ReLU()),
        _graph,
    ),
    "DeepGraphInfomax": (
        lambda: models.DeepGraphInfomax(_HIDDEN, models.GCN(_FEATURES, _HIDDEN, 2), _mean, _flipped),
        _graph,
    ),
    "EdgeCNN": _basic("EdgeCNN"),
    "GAT": _basic("GAT", heads=4),
    "GATv2": _basic("GAT", v2=True, heads=4),
    "GCN": _basic("GCN"),
    "GCN-jk": _basic("GCN", jk="cat"),
    "GIN": _basic("GIN"),
    "GPSENodeEncoder": (
        lambda: models.GPSENodeEncoder(dim_emb=_HIDDEN, dim_pe_in=51, dim_pe_out=32, dim_in=_FEATURES, expand_x=True),
        lambda: (_nodes(), torch.randn(_NODES, 51)),
    ),
    "GraphSAGE": _basic("GraphSAGE"),
    "GroupAddRev": (lambda: models.GroupAddRev(nn.SAGEConv(8, 8), num_groups=2), _graph),
    "InnerProductDecoder": (models.InnerProductDecoder, _graph),
    "JumpingKnowledge": (
        lambda: models.JumpingKnowledge("max"),
        lambda: ([torch.randn(_NODES, _HIDDEN) for _ in range(3)],),
    ),
    "LINKX": (lambda: models.LINKX(_NODES, *_THREE, num_layers=2), _graph),
    "LabelPropagation": (
        lambda: models.LabelPropagation(num_layers=3, alpha=0.9),
        lambda: (torch.randint(0, _CLASSES, (_NODES,)), _edges()),
    ),
    "LightGCN": (lambda: models.LightGCN(_NODES, _HIDDEN, num_layers=3), lambda: (_edges(),)),
    "MLP": (lambda: models.MLP([_FEATURES, _HIDDEN, _HIDDEN, _CLASSES]), lambda: (_nodes(),)),
    "MaskLabel": (
        lambda: models.MaskLabel(_CLASSES, _FEATURES),
        lambda: (_nodes(), torch.randint(0, _CLASSES, (_NODES,)), torch.arange(_NODES) % 2 == 0),
    ),
    "NeuralFingerprint": (lambda: models.NeuralFingerprint(*_THREE, num_layers=3), _batched),
    "PMLP": (lambda: models.PMLP(*_THREE, num_layers=3), _graph),
    "PNA": _basic("PNA", aggregators=["mean", "max", "std"], scalers=["identity", "amplification"], deg=_DEGREE),
    "Polynormer": (lambda: models.Polynormer(*_THREE), _batched),
    "RECT_L": (lambda: models.RECT_L(_FEATURES, _HIDDEN), _graph),
    "SGFormer": (lambda: models.SGFormer(*_THREE), _batched),
    "SchNet": (lambda: models.SchNet(interaction_graph=_all_pairs), _molecule),
    "SignedGCN": (lambda: models.SignedGCN(_FEATURES, _HIDDEN, 2), lambda: (_nodes(), _edges(), _edges(60))),
}


def recipes(spec: str, pattern: str) -> Iterator[Recipe]:
    """Returns the models whose name matches `pattern`."""
    return by_name(spec, "torch_geometric", pattern, list(_MODELS), _build, "other")


def _build(name: str, _options: BuildOptions) -> BuiltModel:
    model, inputs = _MODELS[name]
    return BuiltModel(model(), [Call("graph", inputs())])
