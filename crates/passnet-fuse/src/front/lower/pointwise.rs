//! Pointwise operations, casts, and creation of constant tensors.

use passnet_graph::{Arg, Target};
use passnet_record::DType;

use super::{
    Lowering, broadcast_shape,
    call::{Call, dimension},
};
use crate::front::{
    constants::is_half,
    expr::{Binary, Unary},
    scalar::{Elu, PythonNumber, ScalarFn, as_scalar},
    tensor::{Def, TensorId},
};

impl<'g> Lowering<'g> {
    pub(super) fn pointwise(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        if let Some(function) = unary(call) {
            let x = self.tensor(call.subject()?)?;
            return self.map(function, &[x], dtype);
        }
        if let Some(result) = self.of_two(call) {
            return Some(result);
        }
        match call.name {
            "pow" => self.power(call),
            "where" => {
                // The method is called on the tensor that is chosen where the condition holds.
                let places = if call.is_method { [1, 0] } else { [0, 1] };
                let condition = self.tensor(call.arg(places[0], "condition")?)?;
                let a = self.operand(call.arg(places[1], "input")?, dtype)?;
                let b = self.operand(call.arg(2, "other")?, dtype)?;
                (self.tensors[condition].dtype == DType::Bool).then_some(())?;
                self.map(ScalarFn::Where, &[condition, a, b], dtype)
            }
            "masked_fill" => {
                let x = self.tensor(call.subject()?)?;
                let mask = self.tensor(call.arg(1, "mask")?)?;
                let value = as_scalar(call.arg(2, "value")?)?;
                self.map(ScalarFn::MaskedFill(value), &[x, mask], dtype)
            }
            "to" | "type" | "type_as" | "float" | "half" | "bfloat16" | "double" | "long" | "int" | "bool" => {
                let x = self.tensor(call.subject()?)?;
                Some(self.cast(x, dtype))
            }
            "dropout" | "dropout1d" | "dropout2d" | "dropout3d" | "alpha_dropout" => {
                // In training, the result is random, and no formula gives PyTorch's numbers.
                let trains = call.bool(2, "training", !call.is_method)?;
                let rate = call.float(1, "p", 0.5)?;
                let x = self.tensor(call.subject()?)?;
                (!trains || rate == 0.0).then_some(x)
            }
            "contiguous" | "clone" | "detach" => self.tensor(call.subject()?),
            "full_like" | "zeros_like" | "ones_like" | "full" | "zeros" | "ones" | "new_full" | "new_zeros"
            | "new_ones" => self.filled(call, dtype),
            "addcmul" => self.product_added(call, dtype),
            "linspace" => self.linspace(call, dtype),
            "prelu" => self.prelu(call, dtype),
            "arange" => self.arange(call, dtype),
            "fill" | "zero" | "copy" => self.assigned(call),
            "outer" => self.outer(call, dtype),
            "sign" | "sgn" => self.sign(call, dtype),
            _ => None,
        }
    }

    /// Lowers arithmetic, comparisons and logic of two operands.
    fn of_two(&mut self, call: &Call<'g>) -> Option<TensorId> {
        match call.name {
            // These have a factor `alpha`.
            "add" | "sub" | "rsub" if call.arg(usize::MAX, "alpha").is_some() || call.len() > 2 => None,
            "add" => self.binary(call, Binary::Add),
            "sub" | "rsub" => self.binary(call, Binary::Sub),
            "mul" | "multiply" => self.binary(call, Binary::Mul),
            // With a rounding mode, `div` is a different function, for integers too.
            "div" | "truediv" | "true_divide" if call.arg(usize::MAX, "rounding_mode").is_none() => {
                self.binary(call, Binary::Div)
            }
            "maximum" => self.binary(call, Binary::Max),
            "minimum" => self.binary(call, Binary::Min),
            "max" if self.is_of_two_tensors(call) => self.binary(call, Binary::Max),
            "min" if self.is_of_two_tensors(call) => self.binary(call, Binary::Min),
            "and" | "bitwise_and" => self.binary(call, Binary::And),
            "or" | "bitwise_or" => self.binary(call, Binary::Or),
            "xor" | "bitwise_xor" => self.binary(call, Binary::Xor),
            "logical_and" => self.of_conditions(call, Binary::And),
            "logical_or" => self.of_conditions(call, Binary::Or),
            "lt" => self.comparison(call, Binary::Lt, false),
            "le" => self.comparison(call, Binary::Le, false),
            // Swapped operands instead of a second pair of operators: `a > b` is `b < a` for NaN, too.
            "gt" => self.comparison(call, Binary::Lt, true),
            "ge" => self.comparison(call, Binary::Le, true),
            "eq" => self.comparison(call, Binary::Eq, false),
            "ne" => self.comparison(call, Binary::Ne, false),
            _ => None,
        }
    }

    /// Returns both operands. Numbers and tensors of integers are converted to the type of the result, because half types
    /// cannot hold all integers.
    pub(super) fn operands(&mut self, call: &Call<'g>, dtype: DType) -> Option<[TensorId; 2]> {
        let mut converted = |arg| {
            let operand = self.operand(arg, dtype)?;
            let is_integer = !self.tensors[operand].dtype.is_float() && self.tensors[operand].dtype != DType::Bool;
            Some(if is_integer && dtype.is_float() { self.cast(operand, dtype) } else { operand })
        };
        Some([converted(call.subject()?)?, converted(call.arg(1, "other")?)?])
    }

    /// Rounds numbers, and tensors of one number without dimensions, to a half type, as PyTorch does where it does not compute with
    /// the number itself.
    pub(super) fn store_numbers(&mut self, operands: &mut [TensorId], dtype: DType) {
        for operand in operands {
            if is_half(dtype) && self.tensors[*operand].shape.is_empty() {
                *operand = self.stored(*operand, dtype);
            }
        }
    }

    /// Rounds the operands that eager mode rounds to a half type. It computes with a number itself, unless the number is in the memory of a
    /// device. On CPUs, it also rounds numbers in sums, and dividends, but neither factors nor divisors.
    fn store_where_eager_does(&mut self, call: &Call<'g>, op: Binary, operands: &mut [TensorId; 2]) -> Option<()> {
        let args = [call.subject()?, call.arg(1, "other")?];
        let dtype = self.result_type(call)?.dtype;
        match (self.target, op) {
            (Target::Cuda, _) => {
                for (operand, arg) in operands.iter_mut().zip(args) {
                    if arg.as_value().is_some_and(|value| self.typed.tensor(value).is_some()) {
                        self.store_numbers(std::slice::from_mut(operand), dtype);
                    }
                }
            }
            (Target::Cpu, Binary::Add | Binary::Sub) => self.store_numbers(operands, dtype),
            (Target::Cpu, Binary::Div) if as_scalar(args[0]).is_none() => self.store_numbers(&mut operands[..1], dtype),
            (Target::Cpu, _) => {}
        }
        Some(())
    }

    fn binary(&mut self, call: &Call<'g>, op: Binary) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        let mut operands = self.operands(call, dtype)?;
        self.store_where_eager_does(call, op, &mut operands)?;
        if call.name == "rsub" {
            operands.reverse();
        }
        let broadcast = broadcast_shape(&self.tensors[operands[0]].shape, &self.tensors[operands[1]].shape)?;
        // In place, the first operand keeps its shape.
        (broadcast == self.result_type(call)?.shape).then_some(())?;
        if let (Binary::Div, Some(number)) = (op, as_scalar(call.subject()?)) {
            // Python divides a number by a tensor with `tensor.reciprocal() * number`, which rounds twice.
            let [dividend, divisor] = operands;
            let inverse = self.map(ScalarFn::Reciprocal, &[divisor], dtype)?;
            return if number.as_f64() == 1.0 { Some(inverse) } else { self.combined(Binary::Mul, inverse, dividend) };
        }
        self.map(ScalarFn::Binary(op), &operands, dtype)
    }

    fn comparison(&mut self, call: &Call<'g>, op: Binary, swapped: bool) -> Option<TensorId> {
        let args = [call.subject()?, call.arg(1, "other")?];
        let mut common: Option<DType> = None;
        for arg in args {
            if as_scalar(arg).is_none() {
                let tensor = self.tensor(arg)?;
                let dtype = self.tensors[tensor].dtype;
                // Between types, PyTorch promotes by category and dimensions; equal ones need no rule.
                common.is_none_or(|common| common == dtype).then_some(())?;
                common = Some(dtype);
            }
        }
        let mut common = common?;
        if !common.is_float() && args.iter().any(|arg| matches!(arg, Arg::Float(_))) {
            common = DType::Float32;
        }
        if common == DType::Bool {
            common = DType::Int64;
        }
        let mut operands = self.operands(call, common)?;
        // A number is rounded to the type before it is compared: 0.1 is not above the 0.1 of a half type.
        self.store_numbers(&mut operands, common);
        if swapped {
            operands.reverse();
        }
        self.map(ScalarFn::Compare(op, common), &operands, DType::Bool)
    }

    fn power(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let dtype = self.result_type(call)?.dtype;
        let base = call.subject()?;
        let exponent = call.arg(1, "exponent")?;
        match as_scalar(exponent) {
            // Eager mode on CPUs computes a power there and no root. The two differ for negative infinity and -0.
            Some(exponent)
                if self.target == Target::Cpu && dtype == DType::Float16 && exponent.as_f64().abs() == 0.5 =>
            {
                None
            }
            Some(exponent) => {
                let base = self.tensor(base)?;
                let exponent = exponent.stored(dtype).as_f64();
                let rounds_products = match self.target {
                    Target::Cpu => dtype == DType::BFloat16,
                    Target::Cuda => matches!(dtype, DType::BFloat16 | DType::Float16),
                };
                if rounds_products && (exponent == 3.0 || exponent == -2.0) {
                    // Eager mode multiplies in this type, and rounds each product.
                    let square = self.map(ScalarFn::Binary(Binary::Mul), &[base, base], dtype)?;
                    return match exponent {
                        3.0 => self.map(ScalarFn::Binary(Binary::Mul), &[square, base], dtype),
                        _ => self.map(ScalarFn::PowScalar(-1.0), &[square], dtype),
                    };
                }
                self.map(ScalarFn::PowScalar(exponent), &[base], dtype)
            }
            None => {
                let mut operands = [self.operand(base, dtype)?, self.tensor(exponent)?];
                self.store_numbers(&mut operands, dtype);
                self.map(ScalarFn::Binary(Binary::Pow), &operands, dtype)
            }
        }
    }

    fn is_of_two_tensors(&mut self, call: &Call<'g>) -> bool {
        call.len() == 2 && !call.has_keywords() && call.arg(1, "other").is_some_and(|arg| self.tensor(arg).is_some())
    }

    /// Returns a logical function of two tensors, whose elements count as true unless they are 0.
    pub(super) fn of_conditions(&mut self, call: &Call<'g>, function: Binary) -> Option<TensorId> {
        let mut conditions = [self.tensor(call.subject()?)?, self.tensor(call.arg(1, "other")?)?];
        for condition in &mut conditions {
            let dtype = self.tensors[*condition].dtype;
            if dtype != DType::Bool {
                let zero = self.fill(0.0, dtype);
                *condition = self.map(ScalarFn::Compare(Binary::Ne, dtype), &[*condition, zero], DType::Bool)?;
            }
        }
        self.map(ScalarFn::Binary(function), &conditions, DType::Bool)
    }

    /// Returns `x` where it is positive, else a multiple of `x`. There is one factor for all elements, or one for each channel.
    fn prelu(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let (x, weight) = (self.tensor(call.subject()?)?, self.tensor(call.arg(1, "weight")?)?);
        let mut channel = vec![1; self.tensors[x].shape.len().saturating_sub(1)];
        if let (Some(first), [extent]) = (channel.first_mut(), self.tensors[weight].shape.as_slice()) {
            *first = *extent;
        }
        let weight = self.reshape(weight, &channel);
        let scaled = self.map(ScalarFn::Binary(Binary::Mul), &[weight, x], dtype)?;
        let zero = self.fill(0.0, dtype);
        let is_positive = self.map(ScalarFn::Compare(Binary::Lt, dtype), &[zero, x], DType::Bool)?;
        self.map(ScalarFn::Where, &[is_positive, x, scaled], dtype)
    }

    /// Returns the first half times the sigmoid of the second.
    pub(super) fn glu(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let shape = self.tensors[x].shape.clone();
        let dim = if call.arg(1, "dim").is_some() { call.int(1, "dim")? } else { -1 };
        let dim = dimension(dim, shape.len())?;
        let half = shape[dim] / 2;
        let dtype = self.tensors[x].dtype;
        let wide = self.widen(x)?;
        let wide_type = self.tensors[wide].dtype;
        let (a, b) = (self.slice(wide, dim, 0, 1, half), self.slice(wide, dim, half, 1, half));
        let gate = self.map(ScalarFn::Sigmoid, &[b], wide_type)?;
        let product = self.map(ScalarFn::Binary(Binary::Mul), &[a, gate], wide_type)?;
        Some(self.cast(product, dtype))
    }

    /// Returns `x + value * (a * b)`, rounded once.
    fn product_added(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let value = call.float(usize::MAX, "value", 1.0)?;
        let mut wide = Vec::new();
        for arg in [call.subject()?, call.arg(1, "tensor1")?, call.arg(2, "tensor2")?] {
            let operand = self.tensor(arg)?;
            wide.push(self.widen(operand)?);
        }
        let wide_type = self.tensors[wide[0]].dtype;
        let mut factors = [wide[1], wide[2]];
        if value != 1.0 {
            let value = self.fill(value, wide_type);
            factors = match self.target {
                // Eager mode contracts the product with the second tensor.
                Target::Cpu => [self.map(ScalarFn::Binary(Binary::Mul), &[value, wide[1]], wide_type)?, wide[2]],
                Target::Cuda => [value, self.map(ScalarFn::Binary(Binary::Mul), &factors, wide_type)?],
            };
        }
        let product = self.map(ScalarFn::Binary(Binary::Mul), &factors, wide_type)?;
        let sum = self.map(ScalarFn::Binary(Binary::Add), &[wide[0], product], wide_type)?;
        Some(self.cast(sum, dtype))
    }

    /// Returns each element of a vector times each of another.
    fn outer(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let (a, b) = (self.tensor(call.subject()?)?, self.tensor(call.arg(1, "vec2")?)?);
        let &[rows] = self.tensors[a].shape.as_slice() else { return None };
        (self.tensors[b].shape.len() == 1 && [a, b].iter().all(|&of| self.tensors[of].dtype == dtype)).then_some(())?;
        let column = self.reshape(a, &[rows, 1]);
        self.map(ScalarFn::Binary(Binary::Mul), &[column, b], dtype)
    }

    /// Returns 1 for positive elements, -1 for negative ones and 0 for all others, NaN included.
    fn sign(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        (dtype != DType::Bool).then_some(())?;
        let zero = self.tensors.add(Vec::new(), dtype, Def::Fill(PythonNumber::Int(0)));
        let mut below = |a, b| {
            let is_below = self.map(ScalarFn::Compare(Binary::Lt, dtype), &[a, b], DType::Bool)?;
            Some(self.cast(is_below, dtype))
        };
        let (positive, negative) = (below(zero, x)?, below(x, zero)?);
        self.map(ScalarFn::Binary(Binary::Sub), &[positive, negative], dtype)
    }
}

/// Returns the factors of `elu`, `selu` and `celu`, whose last argument is the flag for in-place changes. Returns `None` for the
/// form of ATen, which has scales at that position.
fn elu(call: &Call<'_>) -> Option<Elu> {
    if call.name == "selu" {
        call.bool(1, "inplace", false)?;
        // Constants of Klambauer et al. (2017), with the digits that PyTorch has.
        return Some(Elu { alpha: 1.673_263_242_354_377_2, scale: 1.050_700_987_355_480_5, input_scale: 1.0 });
    }
    let alpha = call.float(1, "alpha", 1.0)?;
    call.bool(2, "inplace", false)?;
    Some(Elu { alpha, scale: 1.0, input_scale: if call.name == "celu" { 1.0 / alpha } else { 1.0 } })
}

/// Returns the function of a call with one tensor and constants.
fn unary(call: &Call<'_>) -> Option<ScalarFn> {
    let limit = |place, name: &str| match call.given(place, name) {
        None => Some(None),
        Some(arg) => Some(Some(as_scalar(arg)?)),
    };
    let function = match call.name {
        "neg" | "negative" => ScalarFn::Unary(Unary::Neg),
        "abs" => ScalarFn::Unary(Unary::Abs),
        "exp" => ScalarFn::Unary(Unary::Exp),
        "expm1" => ScalarFn::Unary(Unary::Expm1),
        "log" => ScalarFn::Unary(Unary::Log),
        "log1p" => ScalarFn::Unary(Unary::Log1p),
        "sqrt" => ScalarFn::Unary(Unary::Sqrt),
        "sin" => ScalarFn::Unary(Unary::Sin),
        "cos" => ScalarFn::Unary(Unary::Cos),
        "tanh" => ScalarFn::Unary(Unary::Tanh),
        "erf" => ScalarFn::Unary(Unary::Erf),
        "floor" => ScalarFn::Unary(Unary::Floor),
        "ceil" => ScalarFn::Unary(Unary::Ceil),
        "trunc" => ScalarFn::Unary(Unary::Trunc),
        "logical_not" | "invert" | "bitwise_not" => ScalarFn::Unary(Unary::Not),
        "square" => ScalarFn::PowScalar(2.0),
        "reciprocal" => ScalarFn::Reciprocal,
        "rsqrt" => ScalarFn::Rsqrt,
        "sigmoid" => ScalarFn::Sigmoid,
        "silu" => ScalarFn::Silu,
        "relu" => ScalarFn::Relu,
        "hardsigmoid" => ScalarFn::HardSigmoid,
        "hardswish" => ScalarFn::HardSwish,
        "relu6" => ScalarFn::Clamp { low: Some(PythonNumber::Int(0)), high: Some(PythonNumber::Int(6)) },
        "gelu" => match call.given(1, "approximate") {
            None => ScalarFn::Gelu,
            Some(Arg::Str(id)) if call.graph.str(id) == "none" => ScalarFn::Gelu,
            Some(Arg::Str(id)) if call.graph.str(id) == "tanh" => ScalarFn::GeluTanh,
            Some(_) => return None,
        },
        "leaky_relu" => ScalarFn::LeakyRelu(call.float(1, "negative_slope", 0.01)?),
        "elu" | "selu" | "celu" => ScalarFn::Elu(elu(call)?),
        "softplus" => {
            ScalarFn::Softplus { beta: call.float(1, "beta", 1.0)?, threshold: call.float(2, "threshold", 20.0)? }
        }
        "mish" => ScalarFn::Mish,
        "logsigmoid" | "log_sigmoid" => ScalarFn::LogSigmoid,
        "clamp" | "clip" => ScalarFn::Clamp { low: limit(1, "min")?, high: limit(2, "max")? },
        "clamp_min" => ScalarFn::Clamp { low: limit(1, "min")?, high: None },
        "clamp_max" => ScalarFn::Clamp { low: None, high: limit(1, "max")? },
        "hardtanh" => ScalarFn::Clamp {
            low: Some(PythonNumber::Float(call.float(1, "min_val", -1.0)?)),
            high: Some(PythonNumber::Float(call.float(2, "max_val", 1.0)?)),
        },
        _ => return None,
    };
    Some(function)
}
