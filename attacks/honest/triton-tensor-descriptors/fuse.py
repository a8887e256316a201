import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def kernel(x_desc, y_desc, out_desc, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    x = x_desc.load([m, n])
    out_desc.store([m, n], tl.where(x < 0, 0.0, x) + y_desc.load([m, n]))


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    rows, columns = x.shape
    out = torch.empty_like(x)
    block = [16, 16]
    descriptors = [TensorDescriptor.from_tensor(tensor, block) for tensor in (x, y)]
    out_desc = TensorDescriptor(out, shape=[rows, columns], strides=list(out.stride()), block_shape=block)
    kernel[(triton.cdiv(rows, 16), triton.cdiv(columns, 16))](*descriptors, out_desc, BM=16, BN=16)
    return out


def replacement_func():
    return fused
