//! Interpolation: nearest neighbours by whole factors, and bilinear.

use passnet_graph::{Arg, Target, TensorType};
use passnet_record::DType;

use super::{Lowering, call::Call, dimensions, resample::SMALLEST_STORED};
use crate::front::{
    expr::Binary,
    scalar::{PythonNumber, ScalarFn, as_scalar},
    tensor::{Def, Keeps, Signs, TensorId},
};

/// An interpolation needs each element four times or more. If computing one reads more elements of buffers than this, a CPU
/// computes it once and stores it.
const MANY_READS: usize = 4;

impl<'g> Lowering<'g> {
    /// Lowers `interpolate`: nearest neighbour by a whole factor, where PyTorch's float arithmetic and integer division agree;
    /// bilinear; and a copy where the size stays the same.
    pub(super) fn interpolated(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let mode = match call.given(3, "mode") {
            None => "nearest",
            Some(Arg::Str(mode)) => call.graph.str(mode),
            Some(_) => return None,
        };
        let from = self.tensors[x].shape.clone();
        let (aligned, antialiased) = (call.bool(4, "align_corners", false)?, call.bool(6, "antialias", false)?);
        (!antialiased && is_scaled_by_sizes(call, &from, shape)).then_some(())?;
        if from == shape && shape.len() == 4 && matches!(mode, "nearest" | "bilinear" | "bicubic") {
            return Some(x);
        }
        match mode {
            "nearest" => {
                let (vars, mut index) = dimensions(shape);
                for dim in 2..shape.len() {
                    let factor = whole_factor(from[dim], shape[dim])?;
                    index[dim] = index[dim].div(factor, &vars);
                }
                let dtype = self.tensors[x].dtype;
                Some(self.tensors.add(shape.to_vec(), dtype, Def::View { of: x, index, keeps: Keeps::Some }))
            }
            "bilinear" if shape.len() == 4 => {
                let numel: i64 = shape.iter().product();
                if self.target == Target::Cpu
                    && numel >= self.tensors[x].numel()
                    && self.tensors.repeated_reads(x) >= MANY_READS
                {
                    self.begins.insert(call.value);
                }
                self.bilinear(call, x, [shape[2], shape[3]], aligned)
            }
            _ => None,
        }
    }

    /// Returns weighted means of four neighbours: first along the rows, then across them, as PyTorch's kernels do.
    fn bilinear(&mut self, call: &Call<'g>, x: TensorId, size: [i64; 2], aligned: bool) -> Option<TensorId> {
        let (from, dtype) = (self.tensors[x].shape.clone(), self.tensors[x].dtype);
        let wide = self.widen(x)?;
        let ty = self.typed.tensor(call.subject()?.as_value()?)?;
        let stored = (self.target == Target::Cpu && is_general_on_cpu(ty, size)).then_some(dtype);
        let rows = self.neighbours([from[2], size[0]], aligned, stored)?;
        let columns = self.neighbours([from[3], size[1]], aligned, stored)?;
        // The order of the two directions affects rounding, so it is PyTorch's.
        let ends = columns.places.map(|column| self.taken(wide, 3, column));
        let line = self.weighted_sum(ends, columns.weights)?;
        let numel = self.tensors[line].numel();
        // Each line is used for two or more rows of the result. For a small tensor, computing the line again is faster than
        // allocating memory.
        if size[0] >= from[2] && numel >= SMALLEST_STORED && from[2] > 1 {
            self.tensors.mark_reused(line);
        }
        let lines = rows.places.map(|row| self.taken(line, 2, row));
        let across = rows.weights.map(|weight| self.reshape(weight, &[size[0], 1]));
        let sum = self.weighted_sum(lines, across)?;
        Some(self.cast(sum, dtype))
    }

    fn weighted_sum(&mut self, of: [TensorId; 2], weights: [TensorId; 2]) -> Option<TensorId> {
        let wide = self.tensors[of[0]].dtype;
        let mut parts = Vec::new();
        for (of, weight) in of.into_iter().zip(weights) {
            parts.push(self.map(ScalarFn::Binary(Binary::Mul), &[weight, of], wide)?);
        }
        self.map(ScalarFn::Binary(Binary::Add), &parts, wide)
    }

    /// Returns the elements at `places` of one dimension.
    pub(super) fn taken(&mut self, of: TensorId, dim: usize, places: TensorId) -> TensorId {
        let mut shape = self.tensors[of].shape.clone();
        shape.splice(dim..=dim, self.tensors[places].shape.clone());
        let dtype = self.tensors[of].dtype;
        self.tensors.add(shape, dtype, Def::Gather { table: of, dim, indices: places, signs: Signs::Positive })
    }

    /// Returns, for each of `to` places, the two of `from` elements between which it lies, and their weights. `stored` is the type in
    /// which PyTorch's general kernel for CPUs stores weights.
    fn neighbours(&mut self, [from, to]: [i64; 2], aligned: bool, stored: Option<DType>) -> Option<Neighbours> {
        let places = self.tensors.add(vec![to], DType::Int64, Def::Range { start: 0, step: 1 });
        let places = self.cast(places, DType::Float32);
        // In `float32`, as PyTorch computes positions for `float32` and half types: in `float64` some would fall to another element.
        let position = if aligned {
            let scale = if to > 1 { (from - 1) as f32 / (to - 1) as f32 } else { 0.0 };
            let position = self.with_constant(Binary::Mul, places, f64::from(scale))?;
            if self.target == Target::Cpu {
                // PyTorch uses a position that is rounded. A fused multiply-add would not round it before the subtraction below.
                self.tensors.mark_result(position);
            }
            position
        } else {
            let centre = self.with_constant(Binary::Add, places, 0.5)?;
            let scaled = self.with_constant(Binary::Mul, centre, f64::from(from as f32 / to as f32))?;
            if stored.is_some() {
                // PyTorch's other kernel has a fused multiply-add here.
                self.tensors.mark_result(scaled);
            }
            let position = self.with_constant(Binary::Sub, scaled, 0.5)?;
            self.with_constant(Binary::Max, position, 0.0)?
        };
        let first = self.cast(position, DType::Int64);
        let floor = self.cast(first, DType::Float32);
        let one = self.tensors.add(Vec::new(), DType::Int64, Def::Fill(PythonNumber::Int(1)));
        let last = self.tensors.add(Vec::new(), DType::Int64, Def::Fill(PythonNumber::Int(from - 1)));
        let next = self.map(ScalarFn::Binary(Binary::Add), &[first, one], DType::Int64)?;
        let second = self.map(ScalarFn::Binary(Binary::Min), &[next, last], DType::Int64)?;
        let distance = self.map(ScalarFn::Binary(Binary::Sub), &[position, floor], DType::Float32)?;
        let distance = stored.map_or(distance, |dtype| self.rounded(distance, dtype));
        let whole = self.fill(1.0, DType::Float32);
        // As PyTorch computes it. Computing the distance from the second element separately would round differently.
        let nearness = self.map(ScalarFn::Binary(Binary::Sub), &[whole, distance], DType::Float32)?;
        let nearness = stored.map_or(nearness, |dtype| self.rounded(nearness, dtype));
        Some(Neighbours { places: [first, second], weights: [nearness, distance] })
    }

    fn with_constant(&mut self, op: Binary, x: TensorId, constant: f64) -> Option<TensorId> {
        let constant = self.fill(constant, DType::Float32);
        self.map(ScalarFn::Binary(op), &[x, constant], DType::Float32)
    }
}

/// Two elements of one dimension for each place, and their weights.
struct Neighbours {
    places: [TensorId; 2],
    weights: [TensorId; 2],
}

/// Returns whether PyTorch interpolates on a CPU with its general kernel, which stores weights in the type of the elements. The author's
/// kernel then gives the same bits. PyTorch's other kernel is for small results, and for more than three channels that are next to each
/// other (`_use_vectorized_kernel_cond_2d` in ATen's `UpSampleKernel.cpp`).
pub(crate) fn is_general_on_cpu(of: &TensorType, to: [i64; 2]) -> bool {
    let &[batch, channels, rows, columns] = of.shape.as_slice() else { return false };
    let &[by_batch, by_channel, by_row, by_column] = of.stride.as_slice() else { return false };
    let last = TensorType {
        shape: vec![batch, rows, columns, channels],
        stride: vec![by_batch, by_row, by_column, by_channel],
        dtype: of.dtype,
    };
    to[0] + to[1] > 128 && !(channels > 3 && last.is_contiguous())
}

/// Returns whether the scales of an interpolation are the ratios of the sizes. Given a factor, PyTorch uses its inverse. The
/// inverse differs from the ratio where the size of the result was rounded: a factor of 2.4 turns 2 elements into 4.
fn is_scaled_by_sizes(call: &Call<'_>, from: &[i64], to: &[i64]) -> bool {
    let Some(given) = call.given(2, "scale_factor") else { return true };
    let factors = match given {
        Arg::List(range) | Arg::Tuple(range) => call.graph.elements(range).to_vec(),
        factor => vec![factor; from.len().saturating_sub(2)],
    };
    let is_ratio = |((&factor, &from), &to): ((&Arg, &i64), &i64)| {
        let Some(factor) = as_scalar(factor).map(PythonNumber::as_f64) else { return false };
        to as f64 / from as f64 == factor && (1.0 / factor) as f32 == from as f32 / to as f32
    };
    factors.len() + 2 == from.len() && factors.iter().zip(&from[2..]).zip(&to[2..]).all(is_ratio)
}

/// Returns the whole factor between two extents, if PyTorch's arithmetic with its inverse as a `float32` finds the same
/// neighbours: 41 times its inverse is below 1.
fn whole_factor(from: i64, to: i64) -> Option<i64> {
    let factor = to / from;
    let scale = 1.0 / factor as f32;
    let is_same = |place: i64| (place as f32 * scale).floor() as i64 == place / factor;
    (to % from == 0 && (0..to).all(is_same)).then_some(factor)
}
