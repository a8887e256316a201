"""Residual and layer normalisation of BERT and RoBERTa. Dropout does nothing outside training."""

import torch

from add_norm import add_then_norm


def pattern(bias, weight, residual, x):
    total = torch.nn.functional.dropout(x, 0.1, False, False) + residual
    return torch.nn.functional.layer_norm(total, (256,), weight, bias, 1e-12)


def replacement_args(bias, weight, residual, x):
    return (x, residual, weight, bias, 1e-12)


def replacement_func():
    return add_then_norm
