"""PyTorch's functions for layers with weights."""

from __future__ import annotations

import torch

LINEAR = frozenset([torch._C._nn.linear, torch.nn.functional.linear])

CONVOLUTIONS = {torch.conv1d: 1, torch.conv2d: 2, torch.conv3d: 3}
"""Convolutions, with their number of spatial dimensions."""
