//! Depthwise convolutions on CUDA, as sums over the places of their window.
//!
//! PyTorch's own kernel for them (`conv_depthwise2d`) adds the products to the bias in `float32`, place by place in row-major order. The same
//! order gives the same bits. Where PyTorch takes cuDNN instead, which adds the bias to a rounded result, the call stays.

use passnet_graph::{Arg, Target, TensorType};
use passnet_record::DType;

use super::{Lowering, call::Call, dimensions};
use crate::front::{
    expr::Binary,
    index::Index,
    lower::resample::{LARGEST_WINDOW, Window, pair},
    scalar::{Scalar, ScalarFn},
    tensor::{Def, Keeps, TensorId},
};

/// Fewest channels of `float16` that PyTorch gives to cuDNN.
const CHANNELS_OF_CUDNN: i64 = 32;

impl Window {
    /// Returns whether PyTorch may give a depthwise convolution of `float16` to cuDNN (`use_cudnn_depthwise`).
    fn may_be_for_cudnn(&self, from: &[i64]) -> bool {
        let Self { size, step, dilation, .. } = *self;
        let &[_, channels, height, width] = from else { return true };
        let is_common = size[0] == size[1] && [1, 3, 5].contains(&size[0]) && width >= 7 && step[0] <= 2;
        channels >= CHANNELS_OF_CUDNN && dilation == [1, 1] && (is_common || height == 1)
    }
}

impl<'g> Lowering<'g> {
    pub(super) fn convolution(&mut self, call: &Call<'g>) -> Option<TensorId> {
        (call.name == "conv2d" && self.target == Target::Cuda).then_some(())?;
        let result = self.result_type(call)?;
        let (x, weight) = (call.arg(0, "input")?, call.arg(1, "weight")?);
        let bias = call.given(2, "bias");
        let (from, filter) = (self.given_type(x)?.clone(), self.given_type(weight)?.clone());
        let (&[_, channels, ..], &[_, 1, height, width]) = (from.shape.as_slice(), filter.shape.as_slice()) else {
            return None;
        };
        let window = Window {
            size: [height, width],
            step: pair(call, call.given(3, "stride"), [1, 1])?,
            padding: pair(call, call.given(4, "padding"), [0, 0])?,
            dilation: pair(call, call.given(5, "dilation"), [1, 1])?,
        };
        let groups = call.int(6, "groups")?;
        let is_depthwise = groups == channels && channels > 1 && result.shape.len() == 4;
        let is_row_major = from.is_contiguous() && filter.is_contiguous() && result.is_contiguous();
        let may_be_cudnn = from.dtype == DType::Float16 && bias.is_some() && window.may_be_for_cudnn(&from.shape);
        let is_float = matches!(from.dtype, DType::Float32 | DType::Float16 | DType::BFloat16);
        let is_own = is_depthwise && is_row_major && is_float && !may_be_cudnn && height * width <= LARGEST_WINDOW;
        (is_own && from.dtype == filter.dtype && result.shape[1] % channels == 0).then_some(())?;
        self.begins.insert(call.value);
        self.depthwise([x, weight], bias, &window, result)
    }

    fn depthwise(
        &mut self,
        [x, weight]: [Arg; 2],
        bias: Option<Arg>,
        window: &Window,
        result: &TensorType,
    ) -> Option<TensorId> {
        let (x, weight) = (self.tensor(x)?, self.tensor(weight)?);
        let (x, weight) = (self.widen(x)?, self.widen(weight)?);
        let (shape, wide) = (&result.shape, self.tensors[x].dtype);
        let multiplier = shape[1] / self.tensors[x].shape[1];
        let x = self.padded(x, window, shape, Scalar::Int(0))?;
        let (vars, dims) = dimensions(shape);
        let mut sum = match bias {
            Some(bias) => {
                let bias = self.tensor(bias)?;
                let bias = self.widen(bias)?;
                let index = vec![dims[1].clone()];
                Some(self.tensors.add(shape.clone(), wide, Def::View { of: bias, index, keeps: Keeps::Some }))
            }
            None => None,
        };
        for place in 0..window.size[0] * window.size[1] {
            let at = [place / window.size[1], place % window.size[1]];
            let moved = |dim: usize| {
                dims[2 + dim].clone().times(window.step[dim]).plus_constant(at[dim] * window.dilation[dim])
            };
            let channel = dims[1].div(multiplier, &vars);
            let index = vec![dims[0].clone(), channel, moved(0), moved(1)];
            let element = self.tensors.add(shape.clone(), wide, Def::View { of: x, index, keeps: Keeps::Some });
            let index = vec![dims[1].clone(), Index::constant(0), Index::constant(at[0]), Index::constant(at[1])];
            let factor = self.tensors.add(shape.clone(), wide, Def::View { of: weight, index, keeps: Keeps::Some });
            let product = self.map(ScalarFn::Binary(Binary::Mul), &[element, factor], wide)?;
            sum = Some(match sum {
                Some(sum) => self.map(ScalarFn::Binary(Binary::Add), &[sum, product], wide)?,
                None => product,
            });
        }
        Some(self.cast(sum?, result.dtype))
    }

    /// The type of a tensor argument.
    fn given_type(&self, arg: Arg) -> Option<&'g TensorType> {
        self.typed.tensor(arg.as_value()?)
    }
}
