//! For inputs that a library made at run time: their strides may be others than those that were predicted. Then they are
//! copied to the predicted layout first, so that the kernels need to know one layout only.

use crate::plan::region::Input;
use passnet_graph::Target;

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


"#;

/// Function of C++ that copies elements.
pub(super) const COPY_ELEMENTS: &str = r#"// Loops over the elements of a tensor of six dimensions, each of `size` bytes.
template <int64_t size>
void copy_sized(const char* x, char* out, const int64_t* n, const int64_t* s, const int64_t* t) {
    for (int64_t i0 = 0; i0 < n[0]; i0++)
        for (int64_t i1 = 0; i1 < n[1]; i1++)
            for (int64_t i2 = 0; i2 < n[2]; i2++)
                for (int64_t i3 = 0; i3 < n[3]; i3++)
                    for (int64_t i4 = 0; i4 < n[4]; i4++) {
                        const char* from = x + size * (i0 * s[0] + i1 * s[1] + i2 * s[2] + i3 * s[3] + i4 * s[4]);
                        char* to = out + size * (i0 * t[0] + i1 * t[1] + i2 * t[2] + i3 * t[3] + i4 * t[4]);
                        for (int64_t i5 = 0; i5 < n[5]; i5++)
                            std::memcpy(to + size * (i5 * t[5]), from + size * (i5 * s[5]), size);
                    }
}

extern "C" void copy_elements(const char* x, char* out, int64_t size,
        int64_t n0, int64_t n1, int64_t n2, int64_t n3, int64_t n4, int64_t n5,
        int64_t s0, int64_t s1, int64_t s2, int64_t s3, int64_t s4, int64_t s5,
        int64_t t0, int64_t t1, int64_t t2, int64_t t3, int64_t t4, int64_t t5) {
    const int64_t n[] = {n0, n1, n2, n3, n4, n5}, s[] = {s0, s1, s2, s3, s4, s5}, t[] = {t0, t1, t2, t3, t4, t5};
    switch (size) {
        case 1: return copy_sized<1>(x, out, n, s, t);
        case 2: return copy_sized<2>(x, out, n, s, t);
        case 4: return copy_sized<4>(x, out, n, s, t);
        default: return copy_sized<8>(x, out, n, s, t);
    }
}

"#;

/// Declaration of that function, as the literals of a pass.
pub(super) const COPY_SIGNATURE: &str = r#"    "void copy_elements(const char* strided x, char* strided out, int64_t size,"
    " int64_t n0, int64_t n1, int64_t n2, int64_t n3, int64_t n4, int64_t n5,"
    " int64_t s0, int64_t s1, int64_t s2, int64_t s3, int64_t s4, int64_t s5,"
    " int64_t t0, int64_t t1, int64_t t2, int64_t t3, int64_t t4, int64_t t5)",
"#;

const CPP: &str = r#"def copy(x, out):
    """Elements of `x` to `out`, which has the same shape and other strides."""
    n = (1,) * (6 - x.dim()) + tuple(x.shape)
    s = (0,) * (6 - x.dim()) + x.stride()
    t = (0,) * (6 - x.dim()) + out.stride()
    copy_elements(
        x, out, x.element_size(), n[0], n[1], n[2], n[3], n[4], n[5],
        s[0], s[1], s[2], s[3], s[4], s[5], t[0], t[1], t[2], t[3], t[4], t[5],
    )


"#;

const RELAID: &str = r#"def relaid(x, stride):
    """The tensor with other strides."""
    out = torch.empty_strided(x.shape, stride, dtype=x.dtype, device=x.device)
    copy(x, out)
    return out


"#;

/// Functions that copy inputs to another layout.
pub(super) fn helpers(target: Target) -> String {
    let copy = match target {
        Target::Cuda => TRITON,
        Target::Cpu => CPP,
    };
    format!("{copy}{RELAID}")
}

/// Returns whether an input may have strides that are not foreseen, and can be copied then. On a CPU these depend on its
/// instructions, which choose among the library's convolutions.
pub(super) fn may_be_relaid(input: &Input) -> bool {
    !input.is_given && input.ty.shape.len() <= MOST_DIMENSIONS
}
