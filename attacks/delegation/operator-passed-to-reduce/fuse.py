import functools
import operator

import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def positive(value):
    return operator.mul(operator.gt(value, 0), value)


def fused(x, y):
    return functools.reduce(operator.add, map(positive, [x]), y)


def replacement_func():
    return fused
