//! Windows: pooling, and the elements of windows as columns.

use passnet_graph::{Arg, Target};
use passnet_record::DType;

use super::{Lowering, call::Call, dimensions};
use crate::front::{
    expr::Binary,
    scalar::{PythonNumber, ScalarFn},
    tensor::{Def, Keeps, TensorId},
};

/// Largest number of elements of a window that is written out.
const LARGEST_WINDOW: i64 = 49;

/// Elements of the smallest intermediate result that a CPU stores.
pub(super) const SMALLEST_STORED: i64 = 1024;

/// Extents and steps of a window along the last two dimensions.
pub(super) struct Window {
    pub(super) size: [i64; 2],
    pub(super) step: [i64; 2],
    pub(super) padding: [i64; 2],
    pub(super) dilation: [i64; 2],
}

impl Window {
    /// Returns the window along the last dimension only, for a window that the call specifies with one number.
    const fn of_row(self) -> Self {
        let Self { size: [_, size], step: [_, step], padding: [_, padding], dilation: [_, dilation] } = self;
        Self { size: [1, size], step: [1, step], padding: [0, padding], dilation: [1, dilation] }
    }

    /// Returns whether the windows of a pooling from one shape to another end within the padding. With `ceil_mode`, the last
    /// window may end outside, and PyTorch then divides by fewer elements.
    fn is_within(&self, from: &[i64], to: &[i64]) -> bool {
        let reach = |at: usize| (to[to.len() - 2 + at] - 1) * self.step[at] + self.size[at];
        to.len() >= 2 && (0..2).all(|at| reach(at) <= from[from.len() - 2 + at] + 2 * self.padding[at])
    }

    /// Returns the window of a convolution, whose size is the filter's. `None` for padding by name.
    pub(super) fn of_convolution(call: &Call<'_>, size: [i64; 2], rank: usize) -> Option<Self> {
        let window = Self {
            size,
            step: pair(call, call.given(3, "stride"), [1, 1])?,
            padding: pair(call, call.given(4, "padding"), [0, 0])?,
            dilation: pair(call, call.given(5, "dilation"), [1, 1])?,
        };
        let is_sound = window.step.iter().chain(&window.dilation).all(|&value| value > 0)
            && window.padding.iter().all(|&value| value >= 0);
        is_sound.then_some(if rank == 1 { window.of_row() } else { window })
    }
}

impl<'g> Lowering<'g> {
    pub(super) fn resample(&mut self, call: &Call<'g>) -> Option<TensorId> {
        let shape = self.result_type(call)?.shape.clone();
        match call.name {
            "max_pool2d" => {
                let window = self.window(call, Some(4))?;
                let keeps_places = call.bool(6, "return_indices", false)?;
                // The places of the largest elements are a second result. No reduction here computes it.
                (!keeps_places).then_some(())?;
                let x = self.tensor(call.subject()?)?;
                self.max_pool(x, &window, &shape)
            }
            "avg_pool2d" => {
                let window = self.window(call, None)?;
                call.given(6, "divisor_override").is_none().then_some(())?;
                let counts_padding = call.bool(5, "count_include_pad", true)? || window.padding == [0, 0];
                let x = self.tensor(call.subject()?)?;
                window.is_within(&self.tensors[x].shape, &shape).then_some(())?;
                self.average_pool(x, &window, &shape, counts_padding)
            }
            "avg_pool1d" => {
                // Windows along one row.
                let window = self.window(call, None)?.of_row();
                let counts_padding = call.bool(5, "count_include_pad", true)? || window.padding == [0, 0];
                let x = self.tensor(call.subject()?)?;
                let rows = |shape: &[i64]| {
                    let (&length, before) = shape.split_last()?;
                    Some([before, &[1, length]].concat())
                };
                let x = self.reshape(x, &rows(&self.tensors[x].shape.clone())?);
                window.is_within(&self.tensors[x].shape, &rows(&shape)?).then_some(())?;
                let pooled = self.average_pool(x, &window, &rows(&shape)?, counts_padding)?;
                Some(self.reshape(pooled, &shape))
            }
            "adaptive_avg_pool2d" => {
                let x = self.tensor(call.subject()?)?;
                let (from, dtype) = (self.tensors[x].shape.clone(), self.tensors[x].dtype);
                let first = shape.len().checked_sub(2)?;
                let size = [from[first] / shape[first], from[first + 1] / shape[first + 1]];
                // Otherwise windows overlap and differ in size.
                let is_even = (0..2).all(|at| size[at] * shape[first + at] == from[first + at]);
                (is_even && size[0] * size[1] <= LARGEST_WINDOW).then_some(())?;
                let window = Window { size, step: size, padding: [0, 0], dilation: [1, 1] };
                let wide = self.widen(x)?;
                let mean = self.averaged(wide, &window, &shape)?;
                Some(self.cast(mean, dtype))
            }
            "unfold" if !call.is_method => self.columns(call, &shape),
            "interpolate" => self.interpolated(call, &shape),
            _ => None,
        }
    }

    fn max_pool(&mut self, x: TensorId, window: &Window, shape: &[i64]) -> Option<TensorId> {
        // Padded with 0, a window of negative elements would give 0.
        let x = self.padded(x, window, shape, PythonNumber::Float(f64::NEG_INFINITY))?;
        let dtype = self.tensors[x].dtype;
        if self.target != Target::Cpu || !dtype.is_float() {
            return self.pooled(x, window, shape, Binary::Max);
        }
        // No maximum needs a rounding, so elements are converted once and not in each window.
        let wide = self.widen(x)?;
        self.store_for_windows(wide, window);
        let most = self.pooled(wide, window, shape, Binary::Max)?;
        Some(self.cast(most, dtype))
    }

    fn average_pool(&mut self, x: TensorId, window: &Window, shape: &[i64], counts_padding: bool) -> Option<TensorId> {
        let (from, dtype) = (self.tensors[x].shape.clone(), self.tensors[x].dtype);
        let wide = self.widen(x)?;
        let wide = self.padded(wide, window, shape, PythonNumber::Int(0))?;
        self.store_for_windows(wide, window);
        let mean = if counts_padding {
            self.averaged(wide, window, shape)?
        } else {
            let sum = self.pooled(wide, window, shape, Binary::Add)?;
            let counts = self.counts(window, &from, shape)?;
            let wide_type = self.tensors[sum].dtype;
            self.map(ScalarFn::Binary(Binary::Div), &[sum, counts], wide_type)?
        };
        Some(self.cast(mean, dtype))
    }

    /// Makes a CPU store the elements of windows that overlap, with their padding and as `float`: a loop over windows then has neither
    /// conditions nor conversions.
    fn store_for_windows(&mut self, x: TensorId, window: &Window) {
        let overlaps = (0..2).any(|at| window.size[at] > window.step[at]);
        // The elements of an input are in memory already.
        let is_computed = !matches!(self.tensors[x].def, Def::Buffer { .. } | Def::View { .. });
        if self.target == Target::Cpu && overlaps && is_computed && self.tensors[x].numel() >= SMALLEST_STORED {
            self.tensors.mark_reused(x);
        }
    }

    fn window(&self, call: &Call<'g>, dilation: Option<usize>) -> Option<Window> {
        let pair = |arg, default| pair(call, arg, default);
        let size = pair(call.given(1, "kernel_size"), [0, 0])?;
        let window = Window {
            size,
            step: pair(call.given(2, "stride"), size)?,
            padding: pair(call.given(3, "padding"), [0, 0])?,
            dilation: match dilation {
                Some(place) => pair(call.given(place, "dilation"), [1, 1])?,
                None => [1, 1],
            },
        };
        let count = size[0] * size[1];
        (count > 0 && count <= LARGEST_WINDOW).then_some(window)
    }

    /// Returns the elements within reach of the windows.
    fn padded(&mut self, x: TensorId, window: &Window, shape: &[i64], fill: PythonNumber) -> Option<TensorId> {
        let dtype = self.tensors[x].dtype;
        let from = self.tensors[x].shape.clone();
        let first = from.len().checked_sub(2)?;
        let mut extents = from.clone();
        let mut before = vec![0; from.len()];
        for at in 0..2 {
            let reach = (shape[first + at] - 1) * window.step[at] + window.dilation[at] * (window.size[at] - 1) + 1;
            extents[first + at] = reach.max(from[first + at] + window.padding[at]);
            before[first + at] = window.padding[at];
        }
        if extents == from {
            return Some(x);
        }
        dtype.is_float().then(|| self.tensors.add(extents, dtype, Def::Pad { of: x, before, fill }))
    }

    /// Returns the elements of each window combined, in row-major order.
    fn pooled(&mut self, x: TensorId, window: &Window, shape: &[i64], op: Binary) -> Option<TensorId> {
        let dtype = self.tensors[x].dtype;
        let first = shape.len().checked_sub(2)?;
        let mut result = None;
        for place in 0..window.size[0] * window.size[1] {
            let at = [place / window.size[1], place % window.size[1]];
            let (_, mut index) = dimensions(shape);
            for (dim, &at) in at.iter().enumerate() {
                let moved = index[first + dim].clone().times(window.step[dim]);
                index[first + dim] = moved.plus_constant(at * window.dilation[dim]);
            }
            let element = self.tensors.add(shape.to_vec(), dtype, Def::View { of: x, index, keeps: Keeps::Some });
            result = Some(match result {
                None => element,
                Some(so_far) => self.map(ScalarFn::Binary(op), &[so_far, element], dtype)?,
            });
        }
        result
    }

    /// Returns the mean of each window.
    fn averaged(&mut self, x: TensorId, window: &Window, shape: &[i64]) -> Option<TensorId> {
        let dtype = self.tensors[x].dtype;
        let sum = self.pooled(x, window, shape, Binary::Add)?;
        let count = self.fill((window.size[0] * window.size[1]) as f64, dtype);
        self.map(ScalarFn::Binary(Binary::Div), &[sum, count], dtype)
    }

    /// Returns the number of elements of each window that are not padding.
    fn counts(&mut self, window: &Window, from: &[i64], shape: &[i64]) -> Option<TensorId> {
        let first = shape.len().checked_sub(2)?;
        let mut along = Vec::new();
        for at in 0..2 {
            let (extent, whole) = (shape[first + at], from[first + at]);
            let start = Def::Range { start: -window.padding[at], step: window.step[at] };
            let start = self.tensors.add(vec![extent], DType::Int64, start);
            let integer = |lowering: &mut Self, value| {
                lowering.tensors.add(Vec::new(), DType::Int64, Def::Fill(PythonNumber::Int(value)))
            };
            let (size, whole, zero) = (integer(self, window.size[at]), integer(self, whole), integer(self, 0));
            let end = self.map(ScalarFn::Binary(Binary::Add), &[start, size], DType::Int64)?;
            let end = self.map(ScalarFn::Binary(Binary::Min), &[end, whole], DType::Int64)?;
            let start = self.map(ScalarFn::Binary(Binary::Max), &[start, zero], DType::Int64)?;
            along.push(self.map(ScalarFn::Binary(Binary::Sub), &[end, start], DType::Int64)?);
        }
        let rows = self.reshape(along[0], &[shape[first], 1]);
        let counts = self.map(ScalarFn::Binary(Binary::Mul), &[rows, along[1]], DType::Int64)?;
        Some(self.cast(counts, DType::Float32))
    }

    /// Lowers `F.unfold`, which makes a column of the elements of each window.
    fn columns(&mut self, call: &Call<'g>, shape: &[i64]) -> Option<TensorId> {
        let x = self.tensor(call.subject()?)?;
        let size = pair(call, call.given(1, "kernel_size"), [0, 0])?;
        let window = Window {
            size,
            dilation: pair(call, call.given(2, "dilation"), [1, 1])?,
            padding: pair(call, call.given(3, "padding"), [0, 0])?,
            step: pair(call, call.given(4, "stride"), [1, 1])?,
        };
        let from = self.tensors[x].shape.clone();
        let &[batch, channels, ..] = from.as_slice() else { return None };
        let places = |at: usize| {
            let room = from.get(2 + at)? + 2 * window.padding[at] - window.dilation[at] * (size[at] - 1) - 1;
            (room >= 0 && window.step[at] > 0).then(|| room / window.step[at] + 1)
        };
        let places = [places(0)?, places(1)?];
        let x = self.padded(x, &window, &[batch, channels, places[0], places[1]], PythonNumber::Int(0))?;
        let whole = [batch, channels, size[0], size[1], places[0], places[1]];
        let (_, dims) = dimensions(&whole);
        let place = |at: usize| {
            let moved = dims[4 + at].clone().times(window.step[at]);
            moved.plus(&dims[2 + at].clone().times(window.dilation[at]))
        };
        let index = vec![dims[0].clone(), dims[1].clone(), place(0), place(1)];
        let dtype = self.tensors[x].dtype;
        let windows = self.tensors.add(whole.to_vec(), dtype, Def::View { of: x, index, keeps: Keeps::Some });
        Some(self.reshape(windows, shape))
    }
}

/// Returns one number for both dimensions, or one number for each.
fn pair(call: &Call<'_>, arg: Option<Arg>, default: [i64; 2]) -> Option<[i64; 2]> {
    let Some(arg) = arg else { return Some(default) };
    match call.ints(arg)?.as_slice() {
        [] => Some(default),
        &[both] => Some([both, both]),
        &[first, second] => Some([first, second]),
        _ => None,
    }
}
