//! Random contents with a small block of values that are larger than recorded values.
//!
//! In `wide` contents, all elements of all tensors are large. A pass could look at a few elements, compute exactly if one of them is large,
//! and take a shortcut that is right for recorded values otherwise. It finds these blocks only if it looks at all elements.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::{
    choice::Choice,
    content::Content,
    real::{load, store},
    rule::{FloatRule, has_float_parts, is_drawn, vary},
};

/// Deviation of outliers in deviations of `wide` contents.
const OUTLIER: f64 = 2.0;
/// Largest number of elements of a block along the last dimension.
const LONGEST: u64 = 8;
/// The same along every other dimension.
const LONG: u64 = 4;
/// A block has at most one of this number of elements along a dimension, so that most elements are ordinary.
const SHARE: u64 = 4;
/// Number of single outliers of a tensor.
const SINGLE: u64 = 3;
/// First group of random words for outliers. The values use groups from the beginning of the stream.
const OUTLIER_GROUPS: u64 = 1 << 61;

/// Returns whether the input with the given number has outliers.
pub(crate) fn has_outliers(content: Content, number: usize, seed: u64, metas: &[TensorMeta]) -> bool {
    let order = Stream::new(seed, "order of inputs with outliers");
    let choice = Choice::of(number, metas, order, |meta| has_float_parts(meta.dtype));
    match content {
        Content::Outliers => true,
        Content::EvenOutliers => !choice.is_odd,
        Content::OddOutliers => choice.is_odd,
        Content::SingleOutliers => !choice.is_second_pair,
        Content::OtherSingleOutliers => choice.is_second_pair,
        _ => false,
    }
}

/// Places the outliers of a content in a tensor that has some.
pub(crate) fn change(meta: &TensorMeta, seed: u64, content: Content, out: &mut [u8]) {
    let stream = Stream::new(seed, &meta.name);
    let rule = FloatRule::of(meta, Content::Wide);
    let value = |normal| rule.within(OUTLIER * normal * rule.std.max(1.0) + rule.mean, normal, 100.0);
    let is_single = matches!(content, Content::SingleOutliers | Content::OtherSingleOutliers);
    match (is_drawn(meta), is_single) {
        (true, false) => place(meta, seed, stream, out, value),
        (true, true) => scatter(meta, stream, out, |normal, _| value(normal)),
        (false, false) => {}
        (false, true) => scatter(meta, stream, out, |normal, constant| vary(constant, normal)),
    }
}

/// Places a few single elements, each in another part of the tensor. `value` makes a value of a normal variate, and of the element that it
/// replaces.
fn scatter(meta: &TensorMeta, stream: Stream, out: &mut [u8], value: impl Fn(f64, f64) -> f64) {
    let size = meta.dtype.size();
    let count = (out.len() / size) as u64;
    if count <= LONGEST {
        return;
    }
    for part in 0..SINGLE {
        let (first, end) = (count * part / SINGLE, count * (part + 1) / SINGLE);
        let [place, ..] = stream.group(OUTLIER_GROUPS + part);
        let index = (first + u64::from(place) % (end - first)) as usize;
        let element = &mut out[index * size..(index + 1) * size];
        let normal = stream.normals(OUTLIER_GROUPS + SINGLE + part)[0];
        store(meta.dtype, value(normal, load(meta.dtype, element)), element);
    }
}

/// Places one block. The blocks of all tensors have the same indices in dimensions of equal size, so that they meet in products.
/// `value` makes a value of a normal variate.
fn place(meta: &TensorMeta, seed: u64, stream: Stream, out: &mut [u8], value: impl Fn(f64) -> f64) {
    let size = meta.dtype.size();
    if (out.len() / size) as u64 <= LONGEST {
        return;
    }
    let ranges = ranges(&meta.shape, seed);
    let count: u64 = ranges.iter().map(|(_, length)| length).product();
    for number in 0..count {
        let index = index_of(number, &ranges, &meta.shape) as usize;
        let normal = stream.normals(OUTLIER_GROUPS + number / 4)[(number % 4) as usize];
        store(meta.dtype, value(normal), &mut out[index * size..(index + 1) * size]);
    }
}

/// Returns the first index and the length of the block along each dimension.
fn ranges(shape: &[u64], seed: u64) -> Vec<(u64, u64)> {
    let starts = Stream::new(seed, "first indices of outliers");
    let range = |(dimension, &size): (usize, &u64)| {
        let most = if dimension + 1 == shape.len() { LONGEST } else { LONG };
        // The place does not depend on the length, so that blocks of different lengths begin at the same index.
        let last = size.saturating_sub(LONGEST.min(size / SHARE));
        let [first, length, ..] = starts.group(size);
        // Small blocks are between the elements of a pass that looks at every second one, for instance.
        (u64::from(first) % last.max(1), 1 + u64::from(length) % most.min(size / SHARE).max(1))
    };
    shape.iter().enumerate().map(range).collect()
}

/// Returns the flat index of an element of the block.
fn index_of(number: u64, ranges: &[(u64, u64)], shape: &[u64]) -> u64 {
    let (mut rest, mut stride, mut index) = (number, 1, 0);
    for (&(first, length), &size) in ranges.iter().zip(shape).rev() {
        index += (first + rest % length) * stride;
        (rest, stride) = (rest / length, stride * size);
    }
    index
}
