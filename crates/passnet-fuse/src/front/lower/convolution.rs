//! Convolutions on CUDA as sums of products. A depthwise convolution sums over the window of one channel. Other convolutions are
//! matrix products over a group of channels.
//!
//! PyTorch's own kernel for depthwise convolutions (`conv_depthwise2d`) adds the products to the bias in `float32`,
//! place by place in row-major order, and skips places in the padding. The same order gives the same bits. cuDNN
//! computes the others, rounds, and PyTorch adds the bias to the rounded result. Matrix units would also multiply the
//! padding, and 0 times an infinite weight is NaN. So convolutions with padding that would need matrix units stay with
//! PyTorch.

use passnet_graph::{Target, TypedGraph};
use passnet_record::DType;

use super::{Lowering, call::Call, dimensions, product, resample::Window};
use crate::front::{
    expr::{Binary, ReduceOp},
    index::Index,
    scalar::{PythonNumber, ScalarFn},
    tensor::{Def, Keeps, TensorId},
};

/// Largest number of places of a window that is written out.
const LARGEST_WINDOW: i64 = 81;
/// Largest number of products of a convolution whose window of several places is written out. On an H200, kernels with up to 4
/// million products were 1.6 to 4.8 times as fast as eager mode. Kernels with 30, 75 and 123 million were only 0.02 to 1.1 times
/// as fast.
const MOST_WRITTEN_OUT: i64 = 1 << 24;
/// Least number of channels of `float16` that PyTorch gives to cuDNN.
const CHANNELS_OF_CUDNN: i64 = 32;

/// Sizes of a convolution along two dimensions; the first is 1 for `conv1d`.
pub(crate) struct Convolution {
    window: Window,
    groups: i64,
    dtype: DType,
    /// Batch, channels, height, width.
    from: [i64; 4],
    /// Filters, channels of a group, height, width.
    filter: [i64; 4],
    /// Height and width of the result.
    to: [i64; 2],
}

impl Convolution {
    /// Returns the convolution that a call computes; `None` if it stays with the library.
    pub(crate) fn of(typed: &TypedGraph, call: &Call<'_>) -> Option<Self> {
        let rank = match call.name {
            "conv1d" => 1,
            "conv2d" => 2,
            _ => return None,
        };
        let ty = |place, name| typed.tensor(call.arg(place, name)?.as_value()?);
        let (from, filter, result) = (ty(0, "input")?, ty(1, "weight")?, typed.tensor(call.value)?);
        let (from_shape, filter_shape) =
            (in_two_dimensions(&from.shape, rank)?, in_two_dimensions(&filter.shape, rank)?);
        let [.., height, width] = in_two_dimensions(&result.shape, rank)?;
        let dtype = from.dtype;
        let is_float = matches!(dtype, DType::Float32 | DType::Float16 | DType::BFloat16);
        (is_float && filter.dtype == dtype && result.dtype == dtype && from.numel() > 0).then_some(())?;
        let window = Window::of_convolution(call, [filter_shape[2], filter_shape[3]], rank)?;
        let groups = if call.arg(6, "groups").is_some() { call.int(6, "groups")? } else { 1 };
        (groups > 0 && filter_shape[0] % groups == 0 && filter_shape[1] * groups == from_shape[1]).then_some(())?;
        let convolution = Self { window, groups, dtype, from: from_shape, filter: filter_shape, to: [height, width] };
        (convolution.is_written_out() || convolution.is_product() || convolution.is_thin()).then_some(convolution)
    }

    /// Returns whether each filter has one channel and a window that is small enough to be written out.
    fn is_written_out(&self) -> bool {
        let places: i64 = self.window.size.iter().product();
        self.filter[1] == 1 && places <= LARGEST_WINDOW && (places == 1 || self.products() <= MOST_WRITTEN_OUT)
    }

    /// Returns whether the kernel adds in PyTorch's order: one term after the other, or on matrix units in as many steps as the
    /// library.
    pub(crate) fn has_known_sums(&self) -> bool {
        let is_half = self.dtype != DType::Float32;
        if self.is_written_out() { !self.may_be_for_cudnn() } else { is_half && self.terms() <= product::MOST_UNSPLIT }
    }

    /// Returns whether PyTorch may give a depthwise convolution to cuDNN (`use_cudnn_depthwise`).
    fn may_be_for_cudnn(&self) -> bool {
        let Window { size, step, dilation, .. } = self.window;
        let [_, channels, height, width] = self.from;
        let is_common = size[0] == size[1] && [1, 3, 5].contains(&size[0]) && width >= 7 && step[0] <= 2;
        let is_row = height == 1;
        self.dtype == DType::Float16 && channels >= CHANNELS_OF_CUDNN && dilation == [1, 1] && (is_common || is_row)
    }

    fn terms(&self) -> i64 {
        self.filter[1..].iter().product()
    }

    /// Returns the number of filters of a group, and the number of places of the result.
    fn sides(&self) -> [i64; 2] {
        [self.filter[0] / self.groups, self.from[0] * self.to[0] * self.to[1]]
    }

    fn products(&self) -> i64 {
        self.sides().iter().product::<i64>() * self.groups * self.terms()
    }

    fn is_product(&self) -> bool {
        let numel = |shape: &[i64]| shape.iter().product::<i64>();
        let result = self.from[0] * self.filter[0] * numel(&self.to);
        let bytes = (numel(&self.from) + numel(&self.filter) + result) * self.dtype.size() as i64;
        self.window.padding == [0, 0] && product::is_for_matrix_units(self.dtype, self.products(), self.terms(), bytes)
    }

    fn is_thin(&self) -> bool {
        let is_short = self.dtype != DType::Float32 || self.terms() <= product::MOST_TERMS_SINGLE;
        self.window.padding == [0, 0] && is_short && product::is_of_vectors(self.sides(), self.products())
    }
}

impl<'g> Lowering<'g> {
    pub(super) fn convolution(&mut self, call: &Call<'g>) -> Option<TensorId> {
        (self.target == Target::Cuda).then_some(())?;
        let convolution = Convolution::of(self.typed, call)?;
        let shape = self.result_type(call)?.shape.clone();
        let (x, weight) = (self.tensor(call.arg(0, "input")?)?, self.tensor(call.arg(1, "weight")?)?);
        let (x, weight) = (self.reshape(x, &convolution.from), self.reshape(weight, &convolution.filter));
        let (x, weight) = (self.widen(x)?, self.widen(weight)?);
        let bias = match call.given(2, "bias") {
            Some(bias) => Some(self.tensor(bias)?),
            None => None,
        };
        let result = if convolution.is_written_out() {
            self.begins.insert(call.value);
            self.depthwise(&convolution, [x, weight], bias)?
        } else {
            let sum = self.sum_over_channels(&convolution, [x, weight])?;
            if !convolution.is_thin() && matches!(self.tensors[sum].def, Def::Reduce { .. }) {
                self.tensors.mark_product(sum);
                self.begins.insert(call.value);
            }
            let [batch, _, ..] = convolution.from;
            let whole = [batch, convolution.filter[0], convolution.to[0], convolution.to[1]];
            let sum = self.reshape(sum, &whole);
            // cuDNN rounds the sum before PyTorch adds the bias, so there are two roundings here, and one in a
            // depthwise convolution.
            let rounded = self.cast(sum, convolution.dtype);
            self.with_bias(rounded, bias)?
        };
        Some(self.reshape(result, &shape))
    }

    fn with_bias(&mut self, of: TensorId, bias: Option<TensorId>) -> Option<TensorId> {
        let Some(bias) = bias else { return Some(of) };
        let (filters, dtype) = (self.tensors[bias].numel(), self.tensors[of].dtype);
        let bias = self.reshape(bias, &[filters, 1, 1]);
        self.map(ScalarFn::Binary(Binary::Add), &[of, bias], dtype)
    }

    /// Returns the sums over the channels of a group and the window. The dimensions are batch, group, filter of the group, row,
    /// column.
    fn sum_over_channels(&mut self, convolution: &Convolution, [x, weight]: [TensorId; 2]) -> Option<TensorId> {
        let Convolution { window, groups, from, filter, to, .. } = convolution;
        let own = filter[0] / groups;
        let whole = [from[0], *groups, own, to[0], to[1], filter[1], filter[2], filter[3]];
        let (_, dims) = dimensions(&whole);
        let dim = |at: usize| dims[at].clone();
        let moved = |at: usize| dim(3 + at).times(window.step[at]).plus(&dim(6 + at).times(window.dilation[at]));
        let of_x = vec![dim(0), dim(1).times(filter[1]).plus(&dim(5)), moved(0), moved(1)];
        let of_weight = vec![dim(1).times(own).plus(&dim(2)), dim(5), dim(6), dim(7)];
        let dtype = self.tensors[x].dtype;
        let mut spread =
            |of, index| self.tensors.add(whole.to_vec(), dtype, Def::View { of, index, keeps: Keeps::Some });
        let (weight, x) = (spread(weight, of_weight), spread(x, of_x));
        let products = self.map(ScalarFn::Binary(Binary::Mul), &[weight, x], dtype)?;
        let reduced: Vec<bool> = (0..whole.len()).map(|at| at >= 5).collect();
        Some(self.reduce_at_once(ReduceOp::Sum, products, &reduced, false))
    }

    /// Returns the bias and the products of the window, one after the other.
    fn depthwise(
        &mut self,
        convolution: &Convolution,
        [x, weight]: [TensorId; 2],
        bias: Option<TensorId>,
    ) -> Option<TensorId> {
        let Convolution { window, filter, from, to, .. } = convolution;
        let shape = [from[0], filter[0], to[0], to[1]];
        let wide = self.tensors[x].dtype;
        let mut sum = match bias {
            Some(bias) => {
                let bias = self.widen(bias)?;
                let (_, dims) = dimensions(&shape);
                let index = vec![dims[1].clone()];
                Some(self.tensors.add(shape.to_vec(), wide, Def::View { of: bias, index, keeps: Keeps::Some }))
            }
            None => None,
        };
        for place in 0..window.size[0] * window.size[1] {
            let at = [place / window.size[1], place % window.size[1]];
            let Some(product) = self.at_place(convolution, [x, weight], at, &shape)? else { continue };
            sum = Some(match sum {
                Some(sum) => self.map(ScalarFn::Binary(Binary::Add), &[sum, product], wide)?,
                None => product,
            });
        }
        // If the whole window lies in the padding for every result, there is no sum.
        Some(self.cast(sum?, convolution.dtype))
    }

    /// Returns the products at one place of the window. Where the place lies in the padding, both factors are set to 0,
    /// so that an infinite weight does not make NaN. Returns `Some(None)` if the place lies in the padding for every
    /// result.
    fn at_place(
        &mut self,
        Convolution { window, filter, groups, from, .. }: &Convolution,
        [x, weight]: [TensorId; 2],
        at: [i64; 2],
        shape: &[i64; 4],
    ) -> Option<Option<TensorId>> {
        let wide = self.tensors[x].dtype;
        // Results whose place is inside, from `first` on along each dimension.
        let (mut inside, mut before, mut first) = (shape.to_vec(), vec![0; 4], [0; 2]);
        for dim in 0..2 {
            let shift = at[dim] * window.dilation[dim] - window.padding[dim];
            let step = window.step[dim];
            first[dim] = (-shift + step - 1).div_euclid(step).max(0);
            // Both bounds round up: the first and the one after the last result whose place of the window is inside.
            let end = (from[2 + dim] - shift + step - 1).div_euclid(step).min(shape[2 + dim]);
            (inside[2 + dim], before[2 + dim]) = (end - first[dim], first[dim]);
        }
        if inside.iter().any(|&extent| extent <= 0) {
            return Some(None);
        }
        let (vars, dims) = dimensions(&inside);
        let moved = |dim: usize| {
            let shift = at[dim] * window.dilation[dim] - window.padding[dim];
            dims[2 + dim].clone().plus_constant(first[dim]).times(window.step[dim]).plus_constant(shift)
        };
        let of_x = vec![dims[0].clone(), dims[1].div(filter[0] / groups, &vars), moved(0), moved(1)];
        let of_weight = vec![dims[1].clone(), Index::constant(0), Index::constant(at[0]), Index::constant(at[1])];
        let mut factors = Vec::new();
        for (of, index) in [(x, of_x), (weight, of_weight)] {
            let view = self.tensors.add(inside.clone(), wide, Def::View { of, index, keeps: Keeps::Some });
            factors.push(if inside == shape {
                view
            } else {
                let def = Def::Pad { of: view, before: before.clone(), fill: PythonNumber::Int(0) };
                self.tensors.add(shape.to_vec(), wide, def)
            });
        }
        Some(Some(self.map(ScalarFn::Binary(Binary::Mul), &factors, wide)?))
    }
}

/// Returns a shape with one or two dimensions after the first two as a shape with two.
fn in_two_dimensions(shape: &[i64], rank: usize) -> Option<[i64; 4]> {
    match (shape, rank) {
        (&[a, b, width], 1) => Some([a, b, 1, width]),
        (&[a, b, height, width], 2) => Some([a, b, height, width]),
        _ => None,
    }
}
