"""Box decoding with the weights of RetinaNet."""

import torch

from box_deltas import box_deltas


def pattern(codes, x, y, height, width):
    dx = codes[:, 0::4] / 1.0
    dy = codes[:, 1::4] / 1.0
    dw = torch.clamp(codes[:, 2::4] / 1.0, max=4.135166556742356)
    dh = torch.clamp(codes[:, 3::4] / 1.0, max=4.135166556742356)
    new_x = dx * width[:, None] + x[:, None]
    new_y = dy * height[:, None] + y[:, None]
    new_width = torch.exp(dw) * width[:, None]
    new_height = torch.exp(dh) * height[:, None]
    return new_x, new_y, new_height, new_width


def replacement_args(codes, x, y, height, width):
    return (codes, x, y, height, width, 1.0, 1.0)


def replacement_func():
    return box_deltas
