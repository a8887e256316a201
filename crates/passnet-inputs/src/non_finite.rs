//! NaN, infinities and large numbers at a few places of random contents.

use half::f16;
use passnet_record::{DType, TensorMeta};

use crate::philox::Stream;
use crate::{
    content::Content,
    real::{Real, store},
};

/// Tensors with fewer elements stay finite: a NaN in a scale or a bias would make the whole result NaN and hide all differences.
const NON_FINITE_ELEMENTS: usize = 4;

/// Largest number in place of an infinity, except in `float16`. Results that depend on it by a factor of a millionth are still larger than
/// the others, and its fourth power is in the range of `float32`.
const FAR: f64 = 1e8;

/// Replaces up to three elements, but at most a quarter of all, by NaN, infinity and negative infinity, in this order, or by the
/// numbers of other contents. Tensors with bounds or literals in their metadata are left unchanged: the graph may use them as indices or variances.
pub(crate) fn place(meta: &TensorMeta, stream: Stream, content: Content, out: &mut [u8]) {
    let far = if meta.dtype == DType::Float16 { f16::LARGE } else { FAR };
    // These random groups come from the end of the stream, because the values use groups from its beginning.
    let numbers = |group: u64, signs: [f64; 3], scale: f64| {
        let words = stream.group(u64::MAX - group);
        [0, 1, 2].map(|at| signs[at] * scale * (1.0 - 0.5 * f64::from(words[at]) / f64::from(u32::MAX)))
    };
    let values = match content {
        Content::NonFinite => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
        Content::FarPositive => numbers(1, [1.0, 1.0, -1.0], far),
        Content::FarNegative => numbers(2, [-1.0, 1.0, -1.0], far),
        Content::Small => numbers(3, [1.0, 1.0, -1.0], 1.0),
        _ => return,
    };
    let is_free = meta.data.is_none() && meta.min_val.is_none() && meta.max_val.is_none();
    let size = meta.dtype.size();
    let count = out.len() / size.max(1);
    if !(meta.dtype.is_float() && is_free) || count < NON_FINITE_ELEMENTS {
        return;
    }
    let [first, low, high, _] = stream.group(u64::MAX);
    let distance = 1 + (u64::from(low) | u64::from(high) << 32) % (count as u64 / 4);
    for (value, number) in values.into_iter().take(count / 4).zip(0_u64..) {
        let index = ((u64::from(first) + number * distance) % count as u64) as usize;
        store(meta.dtype, value, &mut out[index * size..(index + 1) * size]);
    }
}
