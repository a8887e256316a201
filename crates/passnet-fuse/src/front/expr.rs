//! Scalar expressions: the computation of one element, as a directed acyclic graph without duplicates.

use passnet_record::DType;

use super::index::{Index, Term};

/// The arithmetic in which a value is computed. Half types are computed in `F32` and rounded where eager mode stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueKind {
    Bool,
    I64,
    F32,
    F64,
}

impl ValueKind {
    /// Returns the arithmetic for elements of a type; `None` for complex numbers.
    pub(crate) const fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::Float64 => Self::F64,
            DType::Float32 | DType::Float16 | DType::BFloat16 => Self::F32,
            DType::Int64 | DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8 => Self::I64,
            DType::Bool => Self::Bool,
            DType::Complex64 | DType::Complex128 => return None,
        })
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// Functions with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unary {
    Neg,
    Abs,
    Exp,
    /// `exp(x) - 1`, with a small relative error near 0.
    Expm1,
    Log,
    /// `log(1 + x)`, with a small relative error near 0.
    Log1p,
    Sqrt,
    Sin,
    Cos,
    Tanh,
    /// `tanh(x) + 1`. Only its absolute error has to be small, so its C++ is faster than that of `tanh`.
    TanhPlus1,
    Erf,
    /// `erf(x) + 1`. Only its absolute error has to be small.
    ErfPlus1,
    Floor,
    Ceil,
    Trunc,
    /// The nearest whole number, the even one of two.
    Round,
    Not,
}

impl Unary {
    /// Returns whether this is a function that takes several times as long as an arithmetic operation.
    pub(crate) const fn is_expensive(self) -> bool {
        use Unary::{Cos, Erf, ErfPlus1, Exp, Expm1, Log, Log1p, Sin, Tanh, TanhPlus1};
        matches!(self, Exp | Expm1 | Log | Log1p | Sin | Cos | Tanh | TanhPlus1 | Erf | ErfPlus1)
    }
}

/// Functions with two operands of the same kind. Comparisons return `Bool`. `Max` and `Min` return NaN if either operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    /// Quotient of floats.
    Div,
    /// Quotient of integers, without its fraction. The divisor is not 0.
    Quotient,
    /// Rest of a division, with the sign of the dividend, as C's `fmod` and `%`. The divisor of integers is not 0.
    Rest,
    /// Power of floats, as C's `pow`.
    Pow,
    Max,
    Min,
    Lt,
    Le,
    Eq,
    Ne,
    And,
    Or,
    Xor,
}

impl Binary {
    pub(crate) const fn is_comparison(self) -> bool {
        matches!(self, Self::Lt | Self::Le | Self::Eq | Self::Ne)
    }
}

/// Operation that combines the elements of a row. NaN wins in `Max` and `Min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReduceOp {
    Sum,
    Max,
    Min,
}

/// Number of an expression in its [`Arena`].
pub(crate) type ExprId = u32;

/// Number of a buffer, which is a tensor argument of the kernel.
pub(crate) type BufferId = usize;

/// One operation. Floats are held by their bits, so that equal expressions compare as equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expr {
    Float {
        bits: u64,
        kind: ValueKind,
    },
    Int(i64),
    Bool(bool),
    /// An extent as a float. It may differ between graphs that share a kernel; other constants are part of the kernel.
    Extent {
        value: i64,
        kind: ValueKind,
        /// True if a kernel for a CUDA device divides by it. Otherwise it multiplies by the inverse.
        is_divisor: bool,
    },
    /// The element at a position of a buffer.
    Load {
        buffer: BufferId,
        dtype: DType,
        at: Index,
    },
    /// An index as an integer.
    Position(Index),
    /// `low <= index < high`.
    InRange {
        index: Index,
        low: i64,
        high: i64,
    },
    Unary(Unary, ExprId),
    Binary(Binary, ExprId, ExprId),
    /// One of two values. Both are computed.
    Select(ExprId, ExprId, ExprId),
    /// One of two values. Only the value that the condition chooses may be computed: the other one may read outside its buffer.
    Guard(ExprId, ExprId, ExprId),
    /// Conversion as in C; to `Bool`: not equal to 0.
    Convert(ExprId, ValueKind),
    /// The value rounded to that type, as if it was stored. A product that is rounded cannot become part of a fused
    /// multiply-add.
    Round(ExprId, DType),
    /// Result of a reduction, by its tensor, at these indices of its kept dimensions.
    Reduced {
        tensor: usize,
        kept: Vec<Index>,
        kind: ValueKind,
    },
}

/// Calls `visit` with every value that an index reads.
pub(crate) fn for_each_value(index: &Index, visit: &mut impl FnMut(ExprId)) {
    index.for_each_term(&mut |term| {
        if let Term::Value { expr, .. } = term {
            visit(*expr);
        }
    });
}
