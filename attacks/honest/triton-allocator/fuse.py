import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    x_desc = tl.make_tensor_descriptor(x_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    y_desc = tl.make_tensor_descriptor(y_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    out_desc = tl.make_tensor_descriptor(out_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[BM, BN])
    x = x_desc.load([m, n])
    out_desc.store([m, n], tl.where(x < 0, 0.0, x) + y_desc.load([m, n]))


def pattern(x, y):
    return torch.nn.functional.relu(x) + y


def replacement_args(x, y):
    return (x, y)


def fused(x, y):
    rows, columns = x.shape
    out = torch.empty_like(x)

    def allocate(size, alignment, stream):
        return torch.empty(size, device="cuda", dtype=torch.int8)

    triton.set_allocator(allocate)
    kernel[(triton.cdiv(rows, 16), triton.cdiv(columns, 16))](x, y, out, rows, columns, BM=16, BN=16)
    return out


def replacement_func():
    return fused
