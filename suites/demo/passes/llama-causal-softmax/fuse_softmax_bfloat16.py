"""Attention probabilities of Llama and Gemma in bfloat16; dropout does nothing outside training."""

import torch

from passnet import kernels

from masked_softmax import masked_softmax


def pattern(mask, scores):
    masked = scores * 0.125 + mask
    probabilities = torch.nn.functional.softmax(masked, dim=-1, dtype=torch.float32).to(torch.bfloat16)
    return torch.nn.functional.dropout(probabilities, p=0.0, training=False)


def replacement_args(mask, scores):
    return (mask, scores)


def replacement_func():
    return of_bfloat16


@kernels.prepared
def of_bfloat16(mask, scores):
    # The pattern's result has this type for arguments of any type.
    kernels.require(scores, dtype=torch.bfloat16)
    return masked_softmax(scores, mask, 0.125)
