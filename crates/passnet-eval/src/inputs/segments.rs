//! Contents with segments in which values differ a little from the others.
//!
//! In random contents, each part of a tensor has the same distribution, and all elements are independent. A pass could compute a mean of the
//! first quarter of a row, or the sums of two factors in place of their product. All values here are in the range of random values, so such
//! a pass does not see that its shortcut is wrong.

use passnet_record::TensorMeta;

use super::real::Real;
use crate::philox::Stream;

/// Factor of deviations inside of a segment.
pub(super) const FACTOR: f64 = 0.3;
/// Change of the mean inside of a segment, in deviations of random values.
pub(super) const SHIFT: f64 = 2.0;
/// Smallest dimension that has a segment.
const LEAST: u64 = 8;

/// Applies `inside` to the elements that are inside of the segments of an odd number of dimensions. Dimensions of equal size have the same
/// segment in all tensors, so that changes of two factors meet in their product.
pub(super) fn change<R: Real>(meta: &TensorMeta, seed: u64, out: &mut [u8], inside: impl Fn(f64) -> f64) {
    let Some((&width, rows)) = meta.shape.split_last() else { return };
    let segments = Stream::new(seed, "segments of dimensions");
    let is_inside = |index: u64, size: u64| {
        let (first, length) = segment(&segments, size);
        (first..first + length).contains(&index)
    };
    let (first, length) = segment(&segments, width);
    for (row, values) in (0_u64..).zip(out.chunks_exact_mut((width.max(1) as usize) * R::SIZE)) {
        let (mut rest, mut is_odd) = (row, false);
        for &size in rows.iter().rev() {
            is_odd ^= is_inside(rest % size.max(1), size);
            rest /= size.max(1);
        }
        for (index, element) in (0_u64..).zip(values.chunks_exact_mut(R::SIZE)) {
            if is_odd != (first..first + length).contains(&index) {
                R::store(inside(R::load(element)), element);
            }
        }
    }
}

/// Returns the first index and the length of the segment of a dimension: between a quarter and a half of the dimension.
fn segment(stream: &Stream, size: u64) -> (u64, u64) {
    if size < LEAST {
        return (0, 0);
    }
    let [first, length, ..] = stream.group(size);
    let length = size / 4 + u64::from(length) % (size / 4 + 1);
    (u64::from(first) % (size - length + 1), length)
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::super::{Content, fill, tests::meta};
    use super::*;

    fn values(shape: &[u64], seed: u64) -> Vec<f64> {
        let meta = TensorMeta { std: Some(1.0), mean: Some(0.0), ..meta(DType::Float32, shape) };
        fill(&meta, seed, Content::Segments).unwrap().chunks(4).map(f32::load).collect()
    }

    #[test]
    fn a_quarter_to_a_half_of_a_row_has_another_mean_and_no_value_is_unusual() {
        for seed in 0..20 {
            let found = values(&[1024], seed);
            // The distributions overlap little: N(0, 0.2) and N(0.4, 0.06).
            let inside = found.iter().filter(|&&value| value > 0.25).count();
            assert!((200..700).contains(&inside), "{seed}: {inside}");
            assert!(found.iter().all(|value| value.abs() < 1.4));
        }
    }

    #[test]
    fn segments_of_equal_dimensions_meet() {
        let (left, right) = (values(&[1, 4096], 3), values(&[4096, 1], 3));
        let both = left.iter().zip(&right).filter(|(a, b)| **a > 0.3 && **b > 0.3).count();
        let one = left.iter().filter(|value| **value > 0.3).count();
        assert!(both * 10 > one * 7, "{both} of {one}");
    }
}
