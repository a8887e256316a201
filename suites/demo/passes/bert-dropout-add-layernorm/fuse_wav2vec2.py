"""Residual and layer normalisation of wav2vec 2.0."""

import torch

from add_norm import add_then_norm


def pattern(bias, weight, x, residual):
    total = residual + torch.nn.functional.dropout(x, 0.1, False, False)
    return torch.nn.functional.layer_norm(total, (256,), weight, bias, 1e-05)


def replacement_args(bias, weight, x, residual):
    return (residual, x, weight, bias, 1e-05)


def replacement_func():
    return add_then_norm
