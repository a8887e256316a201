"""The kernel of `copy` for a GPU. It is in a separate file because the file imports Triton."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def copy_elements(
    x, out, numel, n1, n2, n3, n4, n5, s0, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5, BLOCK: tl.constexpr
):
    """Copies a tensor with strides `s` to one with strides `t`, both of six dimensions, a block of elements per program."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < numel
    i5 = i % n5
    i = i // n5
    i4 = i % n4
    i = i // n4
    i3 = i % n3
    i = i // n3
    i2 = i % n2
    i = i // n2
    i1 = i % n1
    i0 = i // n1
    value = tl.load(x + (i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3 + i4 * s4 + i5 * s5), inside)
    tl.store(out + (i0 * t0 + i1 * t1 + i2 * t2 + i3 * t3 + i4 * t4 + i5 * t5), value, inside)
