"""Functions of PyTorch for layers with weights."""

from __future__ import annotations

import torch

LINEAR = frozenset([torch._C._nn.linear, torch.nn.functional.linear])

CONVOLUTIONS = {torch.conv1d: 1, torch.conv2d: 2, torch.conv3d: 3}
"""Convolutions, with the number of dimensions of a result after that of the channels."""
