"""Batch normalisation and hard swish of the classifier, whose momentum the call names although it plays no part here."""

import torch

from bn_hardswish import bn_hardswish


def pattern(mean, variance, bias, weight, x):
    y = torch.nn.functional.batch_norm(x, mean, variance, weight, bias, False, 0.01, 0.001)
    return torch.nn.functional.hardswish(y, True)


def replacement_args(mean, variance, bias, weight, x):
    return (mean, variance, bias, weight, x)


def replacement_func():
    return bn_hardswish
