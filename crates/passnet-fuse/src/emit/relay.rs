//! For inputs that a library made at run time: their strides may be others than those that were predicted. Then they are
//! copied to the predicted layout first, so that the kernels need to know one layout only.

use crate::{author::Target, region::Input};

/// Most dimensions that the copying kernels take.
const MOST_DIMENSIONS: usize = 6;

const TRITON: &str = r#"@kernels.triton
@triton.jit
def copy_elements(x, out, numel, n1, n2, n3, n4, n5, x0, x1, x2, x3, x4, x5, o0, o1, o2, o3, o4, o5, BLOCK: tl.constexpr):
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
    value = tl.load(x + (i0 * x0 + i1 * x1 + i2 * x2 + i3 * x3 + i4 * x4 + i5 * x5), inside, 0)
    tl.store(out + (i0 * o0 + i1 * o1 + i2 * o2 + i3 * o3 + i4 * o4 + i5 * o5), value, inside)


def copy(x, out):
    """Elements of `x` to `out`, which has the same shape and other strides."""
    n = (1,) * (6 - x.dim()) + tuple(x.shape)
    s = (0,) * (6 - x.dim()) + x.stride()
    t = (0,) * (6 - x.dim()) + out.stride()
    copy_elements[((x.numel() + 1023) // 1024,)](
        x, out, x.numel(), n[1], n[2], n[3], n[4], n[5],
        s[0], s[1], s[2], s[3], s[4], s[5], t[0], t[1], t[2], t[3], t[4], t[5], BLOCK=1024,
    )


def relaid(x, stride):
    """The tensor with other strides."""
    out = torch.empty_strided(x.shape, stride, dtype=x.dtype, device=x.device)
    copy(x, out)
    return out


"#;

/// What a pass needs to copy inputs to another layout.
pub(super) const fn helpers(target: Target) -> &'static str {
    match target {
        Target::Cuda => TRITON,
        // There, predictions come from the kernels themselves.
        Target::Cpu => "",
    }
}

/// Whether an input may have strides that are not foreseen, and can be copied then.
pub(super) fn may_be_relaid(input: &Input, target: Target) -> bool {
    target == Target::Cuda && !input.is_given && input.ty.shape.len() <= MOST_DIMENSIONS
}
