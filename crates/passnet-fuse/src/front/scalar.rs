//! Formulas of PyTorch's pointwise operations for one element, written with the operations of [`expr`](super::expr).

use passnet_graph::Arg;
use passnet_record::DType;

use super::{
    arena::Arena,
    constants,
    expr::{Binary, ExprId, Unary, ValueKind},
};

/// A Python number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PythonNumber {
    Bool(bool),
    Int(i64),
    Float(f64),
}

impl PythonNumber {
    pub(crate) const fn as_f64(self) -> f64 {
        match self {
            Self::Bool(value) => value as u8 as f64,
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// Returns the number as an element of a tensor has it: half types round it.
    pub(crate) fn stored(self, dtype: DType) -> Self {
        constants::rounded(self.as_f64(), dtype).map_or(self, Self::Float)
    }

    /// Returns the number in the arithmetic of `kind`.
    pub(crate) fn expr(self, arena: &mut Arena, kind: ValueKind) -> ExprId {
        match (self, kind) {
            (_, ValueKind::F32 | ValueKind::F64) => arena.float(self.as_f64(), kind),
            (Self::Float(value), ValueKind::I64) => arena.int(value as i64),
            (Self::Int(value), ValueKind::I64) => arena.int(value),
            (Self::Bool(value), ValueKind::I64) => arena.int(value.into()),
            (_, ValueKind::Bool) => arena.bool(self.as_f64() != 0.0),
        }
    }
}

/// Returns an argument that is a number.
pub(crate) fn as_scalar(arg: Arg) -> Option<PythonNumber> {
    match arg {
        Arg::Bool(value) => Some(PythonNumber::Bool(value)),
        Arg::Int(value) => Some(PythonNumber::Int(value)),
        Arg::Float(value) => Some(PythonNumber::Float(value)),
        _ => None,
    }
}

/// A pointwise operation with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ScalarFn {
    /// Conversion to the type of the result.
    Cast,
    Unary(Unary),
    /// Computed in the type of the result.
    Binary(Binary),
    /// Comparison in the arithmetic of that type, to which both operands are converted. `a > b` and `a >= b` are comparisons with
    /// the operands swapped.
    Compare(Binary, DType),
    Reciprocal,
    Rsqrt,
    Sigmoid,
    Silu,
    Relu,
    Gelu,
    GeluTanh,
    HardSigmoid,
    HardSwish,
    LeakyRelu(f64),
    /// `elu`, `selu` and `celu`.
    Elu(Elu),
    Softplus {
        beta: f64,
        threshold: f64,
    },
    Mish,
    LogSigmoid,
    Clamp {
        low: Option<PythonNumber>,
        high: Option<PythonNumber>,
    },
    Where,
    /// `fill` where the second operand is true.
    MaskedFill(PythonNumber),
    PowScalar(f64),
    /// The first operand divided by an extent.
    DivideBy(i64),
    /// The same, rounded once on CUDA devices too, where [`Self::DivideBy`] multiplies by the rounded inverse.
    DivideOnceBy(i64),
}

/// `scale * x` where `x` is positive, else `alpha * scale * (exp(input_scale * x) - 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Elu {
    pub(crate) alpha: f64,
    pub(crate) scale: f64,
    pub(crate) input_scale: f64,
}

impl ScalarFn {
    /// Returns the result, not yet rounded to `dtype`, from the operands and their types. Returns `None` if the kinds do not
    /// match.
    pub(crate) fn apply(self, arena: &mut Arena, operands: &[(ExprId, DType)], dtype: DType) -> Option<ExprId> {
        let kind = ValueKind::of(dtype)?;
        if let Self::Compare(op, common) = self {
            let &[(a, _), (b, _)] = operands else { return None };
            let common = ValueKind::of(common)?;
            let (a, b) = (arena.convert(a, common), arena.convert(b, common));
            return Some(arena.binary(op, a, b));
        }
        if let Self::Where = self {
            let &[(condition, _), (a, _), (b, _)] = operands else { return None };
            let (a, b) = (arena.convert(a, kind), arena.convert(b, kind));
            return Some(arena.select(condition, a, b));
        }
        if let Self::MaskedFill(value) = self {
            let &[(a, _), (mask, _)] = operands else { return None };
            let value = value.expr(arena, kind);
            return Some(arena.select(mask, value, a));
        }
        let operands: Vec<ExprId> = operands.iter().map(|&(operand, _)| arena.convert(operand, kind)).collect();
        if let (Self::Binary(op), &[a, b]) = (self, operands.as_slice()) {
            return binary_is_defined(op, kind).then(|| arena.binary(op, a, b));
        }
        let &[x] = operands.as_slice() else { return None };
        self.of_one(arena, x, kind)
    }

    fn of_one(self, arena: &mut Arena, x: ExprId, kind: ValueKind) -> Option<ExprId> {
        match self {
            Self::Cast => return Some(x),
            Self::Unary(op @ (Unary::Neg | Unary::Abs)) if kind != ValueKind::Bool => return Some(arena.unary(op, x)),
            Self::Unary(Unary::Not) if kind == ValueKind::Bool => return Some(arena.unary(Unary::Not, x)),
            Self::Clamp { low, high } if kind != ValueKind::Bool => return Some(clamp(arena, x, low, high, kind)),
            Self::Relu if kind != ValueKind::Bool => {
                return Some(clamp(arena, x, Some(PythonNumber::Int(0)), None, kind));
            }
            // Other powers of integers overflow as PyTorch's do only if they multiply in its order.
            Self::PowScalar(exponent) if kind == ValueKind::I64 && exponent == 2.0 => {
                return Some(arena.binary(Binary::Mul, x, x));
            }
            _ => {}
        }
        kind.is_float().then(|| Float { arena, kind }.apply(self, x)).flatten()
    }
}

fn binary_is_defined(op: Binary, kind: ValueKind) -> bool {
    match op {
        Binary::Div | Binary::Pow => kind.is_float(),
        Binary::Quotient => kind == ValueKind::I64,
        Binary::Rest => kind != ValueKind::Bool,
        Binary::And | Binary::Or | Binary::Xor => matches!(kind, ValueKind::Bool | ValueKind::I64),
        Binary::Mul | Binary::Max | Binary::Min | Binary::Add | Binary::Sub => kind != ValueKind::Bool,
        Binary::Lt | Binary::Le | Binary::Eq | Binary::Ne => false,
    }
}

fn clamp(
    arena: &mut Arena,
    x: ExprId,
    low: Option<PythonNumber>,
    high: Option<PythonNumber>,
    kind: ValueKind,
) -> ExprId {
    let raised = match low {
        Some(low) => {
            let low = low.expr(arena, kind);
            arena.binary(Binary::Max, x, low)
        }
        None => x,
    };
    match high {
        Some(high) => {
            let high = high.expr(arena, kind);
            arena.binary(Binary::Min, raised, high)
        }
        None => raised,
    }
}

/// Builds formulas in the arithmetic of one floating-point kind.
struct Float<'a> {
    arena: &'a mut Arena,
    kind: ValueKind,
}

impl Float<'_> {
    fn constant(&mut self, value: f64) -> ExprId {
        self.arena.float(value, self.kind)
    }

    fn plus(&mut self, x: ExprId, value: f64) -> ExprId {
        let value = self.constant(value);
        self.arena.binary(Binary::Add, x, value)
    }

    fn times(&mut self, x: ExprId, value: f64) -> ExprId {
        let value = self.constant(value);
        self.arena.binary(Binary::Mul, x, value)
    }

    fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.arena.binary(Binary::Mul, a, b)
    }

    fn div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.arena.binary(Binary::Div, a, b)
    }

    fn select_positive(&mut self, x: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        let zero = self.constant(0.0);
        let is_positive = self.arena.binary(Binary::Lt, zero, x);
        self.arena.select(is_positive, then, otherwise)
    }

    /// Returns `1 + exp(-x)`.
    fn sigmoid_divisor(&mut self, x: ExprId) -> ExprId {
        let negated = self.arena.unary(Unary::Neg, x);
        let power = self.arena.unary(Unary::Exp, negated);
        self.plus(power, 1.0)
    }

    /// Returns `min(max(x + 3, 0), 6)`.
    fn relu6_of_plus_3(&mut self, x: ExprId) -> ExprId {
        let shifted = self.plus(x, 3.0);
        clamp(self.arena, shifted, Some(PythonNumber::Int(0)), Some(PythonNumber::Int(6)), self.kind)
    }

    fn apply(&mut self, function: ScalarFn, x: ExprId) -> Option<ExprId> {
        Some(match function {
            ScalarFn::Unary(Unary::Not) => return None,
            ScalarFn::Unary(op) => self.arena.unary(op, x),
            ScalarFn::Reciprocal => {
                let one = self.constant(1.0);
                self.div(one, x)
            }
            ScalarFn::Rsqrt => {
                let one = self.constant(1.0);
                // A quotient and not a power: the printers know `1 / sqrt(x)` and write the device's `rsqrt` for it.
                let root = self.arena.unary(Unary::Sqrt, x);
                self.div(one, root)
            }
            ScalarFn::Sigmoid | ScalarFn::Silu => {
                let numerator = if function == ScalarFn::Silu { x } else { self.constant(1.0) };
                let divisor = self.sigmoid_divisor(x);
                self.div(numerator, divisor)
            }
            ScalarFn::Gelu => self.gelu(x),
            ScalarFn::GeluTanh => self.gelu_tanh(x),
            ScalarFn::HardSigmoid => {
                let clamped = self.relu6_of_plus_3(x);
                let six = self.constant(6.0);
                self.div(clamped, six)
            }
            ScalarFn::HardSwish => {
                let clamped = self.relu6_of_plus_3(x);
                let product = self.mul(x, clamped);
                let six = self.constant(6.0);
                self.div(product, six)
            }
            ScalarFn::LeakyRelu(slope) => {
                let small = self.times(x, slope);
                self.select_positive(x, x, small)
            }
            ScalarFn::Elu(elu) => self.elu(x, elu),
            ScalarFn::Softplus { beta, threshold } => self.softplus(x, beta, threshold),
            ScalarFn::Mish => {
                let log = self.log_of_1_plus_exp(x);
                let tanh = self.arena.unary(Unary::Tanh, log);
                self.mul(x, tanh)
            }
            ScalarFn::LogSigmoid => self.log_sigmoid(x),
            ScalarFn::PowScalar(exponent) => self.power(x, exponent),
            ScalarFn::DivideBy(extent) | ScalarFn::DivideOnceBy(extent) => {
                let extent = self.arena.extent(extent, self.kind, matches!(function, ScalarFn::DivideOnceBy(_)));
                self.div(x, extent)
            }
            _ => return None,
        })
    }

    /// Returns `log(1 + exp(x))`.
    fn log_of_1_plus_exp(&mut self, x: ExprId) -> ExprId {
        let power = self.arena.unary(Unary::Exp, x);
        self.arena.unary(Unary::Log1p, power)
    }

    fn softplus(&mut self, x: ExprId, beta: f64, threshold: f64) -> ExprId {
        let scaled = self.scaled(x, beta);
        let mut log = self.log_of_1_plus_exp(scaled);
        if beta != 1.0 {
            let beta = self.constant(beta);
            log = self.div(log, beta);
        }
        // Above the threshold, `exp` may overflow.
        let threshold = self.constant(threshold);
        let is_large = self.arena.binary(Binary::Lt, threshold, scaled);
        self.arena.select(is_large, x, log)
    }

    /// Returns `min(x, 0) - log(1 + exp(-|x|))`.
    fn log_sigmoid(&mut self, x: ExprId) -> ExprId {
        let size = self.arena.unary(Unary::Abs, x);
        let negated = self.arena.unary(Unary::Neg, size);
        let log = self.log_of_1_plus_exp(negated);
        let below = clamp(self.arena, x, None, Some(PythonNumber::Int(0)), self.kind);
        self.arena.binary(Binary::Sub, below, log)
    }

    /// Returns the product with a factor, which may be 1.
    fn scaled(&mut self, x: ExprId, factor: f64) -> ExprId {
        if factor == 1.0 { x } else { self.times(x, factor) }
    }

    fn elu(&mut self, x: ExprId, elu: Elu) -> ExprId {
        // PyTorch multiplies both factors in the arithmetic of the operation.
        let factor = match self.kind {
            ValueKind::F32 => f64::from(elu.alpha as f32 * elu.scale as f32),
            _ => elu.alpha * elu.scale,
        };
        let scaled = self.scaled(x, elu.input_scale);
        let power = self.arena.unary(Unary::Expm1, scaled);
        let below = self.scaled(power, factor);
        let above = self.scaled(x, elu.scale);
        self.select_positive(x, above, below)
    }

    /// Returns `x / 2 * (1 + erf(x / sqrt(2)))`.
    fn gelu(&mut self, x: ExprId) -> ExprId {
        let scaled = self.times(x, std::f64::consts::FRAC_1_SQRT_2);
        let erf = self.arena.unary(Unary::Erf, scaled);
        let cdf = self.plus(erf, 1.0);
        let half = self.times(x, 0.5);
        self.mul(half, cdf)
    }

    /// Returns `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
    fn gelu_tanh(&mut self, x: ExprId) -> ExprId {
        let square = self.mul(x, x);
        let cube = self.mul(square, x);
        let small = self.times(cube, 0.044_715);
        let sum = self.arena.binary(Binary::Add, x, small);
        let scaled = self.times(sum, std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2);
        let tanh = self.arena.unary(Unary::Tanh, scaled);
        let cdf = self.plus(tanh, 1.0);
        let half = self.times(x, 0.5);
        self.mul(half, cdf)
    }

    fn power(&mut self, x: ExprId, exponent: f64) -> ExprId {
        // PyTorch has special formulas for these exponents (`pow_tensor_scalar`). The library's `pow` rounds differently.
        if exponent == 2.0 {
            self.mul(x, x)
        } else if exponent == 3.0 {
            let square = self.mul(x, x);
            self.mul(square, x)
        } else if exponent == 0.5 {
            self.arena.unary(Unary::Sqrt, x)
        } else if exponent == 1.0 {
            x
        } else if [-1.0, -0.5, -2.0].contains(&exponent) {
            let one = self.constant(1.0);
            let divisor = self.power(x, -exponent);
            self.div(one, divisor)
        } else {
            let exponent = self.constant(exponent);
            self.arena.binary(Binary::Pow, x, exponent)
        }
    }
}
