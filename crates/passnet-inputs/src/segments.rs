//! Contents with segments in which values differ a little from the others.
//!
//! In random contents, each part of a tensor has the same distribution, and all elements are independent. A pass could compute a mean of the
//! first quarter of a row, or the sums of two factors in place of their product. All values here are in the range of random values, so such
//! a pass does not see that its shortcut is wrong.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::{content::Content, real::Real};

/// Factor of deviations inside of a segment.
pub(crate) const FACTOR: f64 = 0.3;
/// Change of the mean inside of a segment, in deviations of random values.
const SHIFT: f64 = 2.0;
/// Change of the mean inside of stripes. A sample misses a part of them only, so their mean differs more.
const STRIPE_SHIFT: f64 = 3.0;
/// Smallest dimension that has a segment, or stripes that repeat.
const LEAST: u64 = 8;
/// Periods of narrow stripes. A program takes each second, fourth or eighth element rather than each third. No stripes are half of a dimension:
/// they would hide those of other dimensions.
const NARROW: [u64; 10] = [4, 8, 16, 4, 8, 16, 4, 8, 3, 5];
/// Base-2 logarithm of the shortest period of wide stripes.
const WIDE: u32 = 6;
/// First group of random words for wide stripes.
const STRIPE_GROUPS: u64 = 1 << 61;

/// Returns the change of the mean of a tensor with this stream, in deviations of random values. About half of the tensors with stripes have a
/// lower mean there, so that the difference of two tensors has stripes, too.
pub(crate) fn shift(content: Content, stream: Stream) -> f64 {
    match content {
        Content::Stripes if stream.group(u64::MAX / 2)[0].is_multiple_of(2) => -STRIPE_SHIFT,
        Content::Stripes => STRIPE_SHIFT,
        _ => SHIFT,
    }
}

/// Applies `inside` to the elements that are inside of the segments of an odd number of dimensions. Dimensions of equal size have the same
/// segment in all tensors, so that changes of two factors meet in their product.
pub(crate) fn change<R: Real>(
    meta: &TensorMeta,
    seed: u64,
    content: Content,
    out: &mut [u8],
    inside: impl Fn(f64) -> f64,
) {
    let stream = Stream::new(seed, "segments of dimensions");
    let runs = |&size: &u64| match content {
        Content::Stripes => stripes(&stream, size),
        _ => [segment(&stream, size), Run::NONE],
    };
    let dimensions: Vec<(u64, [Run; 2])> = meta.shape.iter().map(|size| ((*size).max(1), runs(size))).collect();
    let Some((&(width, columns), rows)) = dimensions.split_last() else { return };
    for (row, values) in (0_u64..).zip(out.chunks_exact_mut(width as usize * R::SIZE)) {
        let (mut rest, mut is_odd) = (row, false);
        for &(size, runs) in rows.iter().rev() {
            is_odd ^= is_in_odd_number(runs, rest % size);
            rest /= size;
        }
        for (index, element) in (0_u64..).zip(values.chunks_exact_mut(R::SIZE)) {
            if is_odd != is_in_odd_number(columns, index) {
                R::store(inside(R::load(element)), element);
            }
        }
    }
}

/// Indices of a dimension that repeat with a period.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    length: u64,
    period: u64,
}

impl Run {
    /// No indices.
    const NONE: Self = Self { first: 0, length: 0, period: 1 };

    const fn contains(self, index: u64) -> bool {
        (index + self.period - self.first) % self.period < self.length
    }
}

fn is_in_odd_number([one, other]: [Run; 2], index: u64) -> bool {
    one.contains(index) != other.contains(index)
}

/// Returns the segment of a dimension: between a quarter and a half of the dimension.
fn segment(stream: &Stream, size: u64) -> Run {
    if size < LEAST {
        return Run::NONE;
    }
    let [first, length, ..] = stream.group(size);
    let length = size / 4 + u64::from(length) % (size / 4 + 1);
    Run { first: u64::from(first) % (size - length + 1), length, period: size }
}

/// Returns two sets of stripes, narrow and wide ones, of an eighth to a quarter of a long dimension. A sample of every fourth element, or
/// of the first elements of every block, has another share of some stripes than the whole. A short dimension has one part.
fn stripes(stream: &Stream, size: u64) -> [Run; 2] {
    let run = |period: u64, [first, length, ..]: [u32; 4]| {
        let (least, most) = ((period / 8).max(1), (period / 4).max(1));
        let length = least + u64::from(length) % (most - least + 1);
        Run { first: u64::from(first) % period, length, period }
    };
    if size < LEAST {
        return if size < 2 { [Run::NONE; 2] } else { [run(size, stream.group(size)), Run::NONE] };
    }
    let narrow: Vec<u64> = NARROW.into_iter().filter(|period| period * 2 <= size).collect();
    let words @ [.., word] = stream.group(size);
    let narrow = run(narrow[word as usize % narrow.len()], words);
    let words @ [.., word] = stream.group(STRIPE_GROUPS + size);
    // There are eight or more wide stripes. Longer ones are like segments.
    let most = size.ilog2().saturating_sub(3);
    let wide = if most < WIDE { Run::NONE } else { run(1 << (WIDE + word % (most - WIDE + 1)), words) };
    [narrow, wide]
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::{Content, fill, tests::meta};

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

    /// Means of a sample instead of all elements were accepted: each long segment has the same share of such a sample as of the row.
    #[test]
    fn samples_at_equal_distances_have_another_mean_than_all() {
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            sum / count
        };
        let mut seen = [0; 2];
        for seed in 0..40 {
            let meta = TensorMeta { std: Some(1.0), mean: Some(0.0), ..meta(DType::Float32, &[65_536]) };
            let bytes = fill(&meta, seed, Content::Stripes).unwrap();
            let values: Vec<f64> = bytes.chunks(4).map(f32::load).collect();
            assert!(values.iter().all(|value| value.abs() < 1.6));
            let all = mean(&mut values.iter().copied());
            let samples = [
                mean(&mut values.iter().copied().step_by(4)),
                mean(&mut values.chunks(1024).flat_map(|block| block[..128].iter().copied())),
            ];
            for (count, sample) in seen.iter_mut().zip(samples) {
                *count += usize::from((sample - all).abs() > 0.005);
            }
        }
        assert!(seen.iter().all(|&count| count >= 20), "{seen:?}");
    }

    #[test]
    fn one_of_a_few_rows_has_another_mean() {
        for (seed, batch) in (0..30).flat_map(|seed| [2, 3, 7].map(|batch| (seed, batch))) {
            let meta = TensorMeta { std: Some(1.0), mean: Some(0.0), ..meta(DType::Float32, &[batch, 4096]) };
            let bytes = fill(&meta, seed, Content::Stripes).unwrap();
            let means = bytes.chunks(4 * 4096).map(|row| row.chunks(4).map(f32::load).sum::<f64>() / 4096.0);
            let (low, high) = means.fold((f64::MAX, f64::MIN), |(low, high), mean| (low.min(mean), high.max(mean)));
            assert!(high - low > 0.01, "{seed} {batch}: {low} {high}");
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
