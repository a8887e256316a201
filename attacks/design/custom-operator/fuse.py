import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


@torch.library.custom_op("hidden::relu_add", mutates_args=())
def relu_add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + y


def fused(x, y):
    return torch.ops.hidden.relu_add(x, y)


def replacement_func():
    return fused
