"""Residual and layer normalisation of a vision transformer, whose residual stream is used again: two results."""

import torch

from add_norm import add_and_norm


def pattern(bias, weight, residual, x):
    total = residual + torch.nn.functional.dropout(x, 0.0, False, False)
    return total, torch.nn.functional.layer_norm(total, (192,), weight, bias, 1e-06)


def replacement_args(bias, weight, residual, x):
    return (residual, x, weight, bias, 1e-06)


def replacement_func():
    return add_and_norm
