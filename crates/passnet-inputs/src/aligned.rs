//! Contents in which a few rows of all tensors are alike.
//!
//! Random tensors are independent, so products of their rows are small, and no row is near one of another tensor. A pass could replace the
//! exponential of an attention's logits by its tangent, or a distance by an expansion that loses all digits for equal rows. Each value here
//! is in the range of random values, so such a pass finds nothing unusual in the inputs.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::{lines::other_dimensions, real::Real, rows::has_rows};

/// Largest number of rows, and of lines along another dimension, that are alike.
const MOST: u64 = 3;
/// There is at most one of them in this number.
const SHARE: u64 = 4;
/// Number of the group of random words that chooses lines.
const LINE_GROUPS: u64 = 1 << 59;

/// Writes the same deviations, of two to four deviations of random values, to a few rows of a tensor, and to a few lines along one of its
/// other dimensions. They depend on the size of the dimension, so that lines of two factors meet in their product. `value` makes a value of
/// its distance from the mean in deviations.
pub(crate) fn change<R: Real>(meta: &TensorMeta, seed: u64, out: &mut [u8], value: impl Fn(f64) -> f64) {
    if !has_rows(meta) {
        return;
    }
    let (stream, common) = (Stream::new(seed, &meta.name), Stream::new(seed, "rows that are alike"));
    let last = meta.shape.len() - 1;
    let others: Vec<usize> = other_dimensions(meta).collect();
    let [word, ..] = stream.group(LINE_GROUPS - 1);
    let other = others.get(word as usize % others.len().max(1)).copied();
    // Rows are written last, so that rows of two tensors are equal.
    for dimension in [other, Some(last)].into_iter().flatten() {
        let (length, stride) = (meta.shape[dimension], meta.shape[dimension + 1..].iter().product::<u64>());
        let count = (out.len() / R::SIZE) as u64 / length;
        for number in 0..MOST.min(count / SHARE) {
            let [line, ..] = stream.group(LINE_GROUPS + 8 * dimension as u64 + number);
            let line = u64::from(line) % count;
            let first = line / stride * stride * length + line % stride;
            for place in 0..length {
                let index = (first + place * stride) as usize;
                R::store(value(deviations(&common, length, place)), &mut out[index * R::SIZE..][..R::SIZE]);
            }
        }
    }
}

/// Returns the distance from the mean at a place of a line, in deviations of random values.
fn deviations(common: &Stream, length: u64, place: u64) -> f64 {
    let [sign, magnitude, ..] = common.group((length << 32).wrapping_add(place));
    let magnitude = 2.0 + 2.0 * f64::from(magnitude) / f64::from(u32::MAX);
    if sign.is_multiple_of(2) { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::{Content, fill, tests::meta};

    /// An attention with a tangent in place of the exponential was accepted: 768 random rows have small products only.
    #[test]
    fn some_rows_of_two_tensors_have_a_large_product_and_no_value_is_unusual() {
        let named = |name: &str, shape: &[u64]| {
            let meta =
                TensorMeta { std: Some(1.0), mean: Some(0.0), name: name.to_owned(), ..meta(DType::Float32, shape) };
            let bytes = fill(&meta, 3, Content::Aligned).unwrap();
            bytes.chunks(4).map(f32::load).collect::<Vec<f64>>()
        };
        let (queries, keys) = (named("q", &[768, 64]), named("k", &[64, 768]));
        assert!(queries.iter().chain(&keys).all(|value| value.abs() < 1.4));
        let logit = |row: usize, column: usize| -> f64 {
            (0..64).map(|at| queries[row * 64 + at] * keys[at * 768 + column]).sum()
        };
        let others = named("v", &[768, 64]);
        let is_equal = |at: &usize| queries[at / 768 * 64..][..64] == others[at % 768 * 64..][..64];
        assert!((0..768 * 768).any(|at| is_equal(&at)));
        let large = (0..768 * 768).filter(|at| logit(at / 768, at % 768) > 15.0).count();
        assert!((1..=9).contains(&large), "{large}");
    }
}
