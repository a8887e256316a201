"""Guards of replacement functions."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from passnet import kernels

X = torch.randn(3, 4)


@pytest.mark.parametrize(
    ("tensors", "wanted", "message"),
    [
        ((X, X), {}, None),
        ((X, X.double()), {}, "tensor 2 of 2 is of torch.float64, not of torch.float32"),
        ((X, X.to("meta")), {}, "tensor 2 of 2 is on meta, not on cpu"),
        ((X.t(),), {}, r"the tensor of shape \(4, 3\) has strides \(1, 4\), and is not contiguous"),
        ((X.t(),), {"contiguous": False}, None),
        ((X.to_sparse(),), {}, "the tensor is torch.sparse_coo, not strided"),
        ((X,), {"dtype": torch.float32}, None),
        ((X,), {"dtype": torch.float16}, "the tensor is of torch.float32, not of torch.float16"),
        ((X,), {"dtype": (torch.float16, torch.float32)}, None),
        ((X.int(),), {"dtype": (torch.float16, torch.float32)}, "not of torch.float16 or torch.float32"),
        ((X, X.half()), {"dtype": (torch.float16, torch.float32)}, "tensor 2 of 2 is of torch.float16, not of"),
        ((X,), {"like": X.half()}, "the tensor is of torch.float32, not of torch.float16"),
        ((X,), {"shape": (3, 4)}, None),
        ((X,), {"shape": (None, 4)}, None),
        ((X,), {"shape": X.shape}, None),
        ((X, X[:1]), {"shape": X.shape}, r"tensor 2 of 2 has shape \(1, 4\), not \(3, 4\)"),
        ((X,), {"shape": (None, None, 4)}, r"has shape \(3, 4\), not \(any, any, 4\)"),
        ((X[0, 0],), {"shape": ()}, None),
    ],
)
def test_tensors_are_what_they_have_to_be(tensors: tuple, wanted: dict[str, Any], message: str | None):
    if message is None:
        kernels.require(*tensors, **wanted)
        return
    with pytest.raises(ValueError, match=message):
        kernels.require(*tensors, **wanted)
