//! Random contents with a small block of values that are larger than recorded values.
//!
//! In `wide` contents, all elements of all tensors are large. A pass could look at a few elements, compute exactly if one of them is large,
//! and take a shortcut that is right for recorded values otherwise. It finds these blocks only if it looks at all elements.

use passnet_record::TensorMeta;

use super::real::store;
use crate::philox::Stream;

/// Largest number of elements of a block along the last dimension.
const LONGEST: u64 = 8;
/// The same along every other dimension.
const LONG: u64 = 4;
/// A block has at most one of this number of elements along a dimension, so that most elements are ordinary.
const SHARE: u64 = 4;
/// First group of random words for outliers. The values use groups from the beginning of the stream.
const OUTLIER_GROUPS: u64 = 1 << 61;

/// Places one block. The blocks of all tensors have the same indices in dimensions of equal size, so that they meet in products.
/// `value` makes a value of a normal variate.
pub(super) fn place(meta: &TensorMeta, seed: u64, stream: Stream, out: &mut [u8], value: impl Fn(f64) -> f64) {
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
        (u64::from(starts.group(size)[0]) % last.max(1), most.min(size / SHARE).max(1))
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
