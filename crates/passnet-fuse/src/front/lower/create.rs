//! Creation of tensors: constants and ranges.

use passnet_graph::{Arg, Type};
use passnet_record::DType;

use super::{Lowering, call::Call};
use crate::front::{
    scalar::{PythonNumber, as_scalar},
    tensor::{Def, TensorId},
};

/// Whole numbers below this one have neighbours at a distance of 1 as floats.
const LARGEST_EXACT: f64 = (1_i64 << 53) as f64;

impl<'g> Lowering<'g> {
    /// Lowers a constant tensor: `zeros`, `full_like`.
    pub(super) fn filled(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let value = match call.name.trim_start_matches("new_") {
            "full" | "full_like" => as_scalar(call.arg(if call.name == "new_full" { 2 } else { 1 }, "fill_value")?)?,
            name => PythonNumber::Int(name.starts_with("ones").into()),
        };
        let shape = self.result_type(call)?.shape.clone();
        Some(self.tensors.add(shape, dtype, Def::Fill(value.stored(dtype))))
    }

    /// Lowers `torch.tensor(number)`. The result may be in host memory, so it is used as a number where it is an operand.
    pub(super) fn constant(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let (Type::Tensor(ty) | Type::Host { host: ty }) = self.typed.type_of(call.value) else { return None };
        (call.name == "tensor" && !call.is_method && ty.shape.is_empty()).then_some(())?;
        let value = as_scalar(call.arg(0, "data")?)?;
        Some(self.tensors.add(Vec::new(), ty.dtype, Def::Fill(value.stored(ty.dtype))))
    }

    /// Lowers `linspace` if its step is a whole number, because such steps do not round.
    pub(super) fn linspace(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        let (start, end, steps) = (call.int(0, "start")?, call.int(1, "end")?, call.int(2, "steps")?);
        (steps > 1 && (end - start) % (steps - 1) == 0 && dtype == DType::Float32).then_some(())?;
        let def = Def::Range { start, step: (end - start) / (steps - 1) };
        Some(self.tensors.add(vec![steps], dtype, def))
    }

    pub(super) fn arange(&mut self, call: &Call<'g>, dtype: DType) -> Option<TensorId> {
        // Whole numbers, also as floats: `arange(0, 8, 1.0, dtype=torch.int64)`.
        let int = |place, name| match call.arg(place, name)? {
            Arg::Int(value) => Some(value),
            Arg::Float(value) if value.fract() == 0.0 && value.abs() < LARGEST_EXACT => Some(value as i64),
            _ => None,
        };
        // The end is read only so that the keyword counts as read. The number of elements comes from the type of the result.
        let (start, step) = match call.len() {
            1 => (0, 1),
            2 => (int(0, "start")?, 1),
            3 => (int(0, "start")?, int(2, "step")?),
            _ => return None,
        };
        int(0, "end")?;
        let shape = self.result_type(call)?.shape.clone();
        Some(self.tensors.add(shape, dtype, Def::Range { start, step }))
    }
}
