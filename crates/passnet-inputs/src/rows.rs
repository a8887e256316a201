//! Contents whose rows differ.
//!
//! In the other contents, all rows of a tensor have the same distribution. A pass could look at a few elements, take a shortcut that is
//! right for rows of this distribution, and be wrong for the others: leave out the maximum of a softmax, the epsilon of a norm, or rows
//! that seem to be zero, or equal to their neighbours.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::{content::Content, real::Real};

/// A tensor has at most one spike in this number of elements, if it has more than two, so that a pass does not find one in a few elements.
const ELEMENTS_PER_SPIKE: u64 = 256;
/// Largest number of spikes of a tensor. With many of them, a pass that leaves out a small share of the elements leaves out a spike.
const MOST_SPIKES: u64 = 64;
/// In a row that is sparse or repeated, one element of this number is an ordinary value. There is at least one.
const ELEMENTS_PER_VALUE: u64 = 64;
/// Number of distinct values of a tensor without rows.
const DISTINCT: u64 = 4;
/// First group of random words for rows. The values use groups from the beginning of the stream.
const ROW_GROUPS: u64 = 1 << 62;

/// Returns whether the tensor has more than one row, of more than one element.
pub(crate) fn has_rows(meta: &TensorMeta) -> bool {
    let width = meta.shape.last().copied().unwrap_or(1);
    width > 1 && meta.numel().is_some_and(|count| count > width)
}

/// Changes rows of a filled tensor to those of a content. `within` applies the bounds of the tensor. The flag is true if the tensor or
/// another input has rows.
pub(crate) fn change<R: Real>(
    meta: &TensorMeta,
    stream: Stream,
    (content, some_has_rows): (Content, bool),
    out: &mut [u8],
    within: impl Fn(f64) -> f64,
) {
    match content {
        // Spikes in scales and biases would hide all other differences.
        Content::Spikes if has_rows(meta) || !some_has_rows => place_spikes::<R>(stream, out, within),
        Content::Uneven if has_rows(meta) => change_rows::<R>(meta, stream, out, within),
        Content::Uneven => repeat_values(stream, R::SIZE, out),
        Content::Scaled if has_rows(meta) || !some_has_rows => scale_parts::<R>(meta, stream, out, within),
        _ => {}
    }
}

/// Makes rows ordinary, nearly equal to the row before, small, and sparse, in turns.
fn change_rows<R: Real>(meta: &TensorMeta, stream: Stream, out: &mut [u8], within: impl Fn(f64) -> f64) {
    let width = meta.shape.last().copied().unwrap_or(1);
    let [start, ..] = stream.group(ROW_GROUPS - 1);
    for row in 0..(out.len() / R::SIZE) as u64 / width {
        let words = stream.group(ROW_GROUPS + row);
        let first = (row * width) as usize * R::SIZE;
        let (before, rest) = out.split_at_mut(first);
        let values = &mut rest[..width as usize * R::SIZE];
        match (row + u64::from(start)) % 4 {
            0 => {}
            1 => before.rchunks(values.len()).take(1).for_each(|last| keep_some(words, R::SIZE, values, last)),
            2 => shrink::<R>(words, values, &within),
            _ => {
                let mut zeros = vec![0; values.len()];
                zeros.chunks_exact_mut(R::SIZE).for_each(|zero| R::store(within(0.0), zero));
                keep_some(words, R::SIZE, values, &zeros);
            }
        }
    }
}

/// Puts one value of a large magnitude at a random place into each of as many equal parts of a tensor as it has spikes. The signs
/// alternate: an exponential, for instance, overflows for one of them only. Positive values are between a quarter of the largest one and
/// the largest one, so that arithmetic of a smaller range overflows. Negative values have any magnitude from the square root of the bound
/// of `large` contents on.
fn place_spikes<R: Real>(stream: Stream, out: &mut [u8], within: impl Fn(f64) -> f64) {
    let count = (out.len() / R::SIZE) as u64;
    let spikes = (count / ELEMENTS_PER_SPIKE).clamp(2, MOST_SPIKES).min(count);
    for spike in 0..spikes {
        let [place, magnitude, ..] = stream.group(ROW_GROUPS + spike);
        let (first, end) = (count * spike / spikes, count * (spike + 1) / spikes);
        let share = f64::from(magnitude) / f64::from(u32::MAX);
        let value = match spike % 2 {
            0 => R::SPIKE * 0.25_f64.powf(share),
            _ => -R::LARGE.powf(0.5 + 0.5 * share),
        };
        let place = (first + u64::from(place) % (end - first)) as usize;
        R::store(within(value), &mut out[place * R::SIZE..][..R::SIZE]);
    }
}

/// Multiplies a row by a power of two between 2^-22 and 2^-7. The variances of such rows are near the epsilons of norms, 1e-5 to 1e-12.
fn shrink<R: Real>([exponent, ..]: [u32; 4], row: &mut [u8], within: impl Fn(f64) -> f64) {
    let factor = 0.5_f64.powi(7 + (exponent % 16).cast_signed());
    for element in row.chunks_exact_mut(R::SIZE) {
        R::store(within(R::load(element) * factor), element);
    }
}

/// Multiplies a tensor, and each part of it along its first dimension of several elements, by powers of two. Reductions over all dimensions
/// but the first, or over all, then have variances near the epsilons of norms. Rows alone, as in [`shrink`], do not show in them.
fn scale_parts<R: Real>(meta: &TensorMeta, stream: Stream, out: &mut [u8], within: impl Fn(f64) -> f64) {
    let parts = meta.shape.iter().copied().find(|&size| size > 1).unwrap_or(1);
    let [whole, ..] = stream.group(ROW_GROUPS - 2);
    let size = (out.len() / parts as usize).max(R::SIZE);
    for (part, elements) in (0_u64..).zip(out.chunks_mut(size)) {
        let [own, ..] = stream.group(ROW_GROUPS + part);
        let factor = 0.5_f64.powi(4 + (whole % 11).cast_signed() + (own % 8).cast_signed());
        for element in elements.chunks_exact_mut(R::SIZE) {
            R::store(within(R::load(element) * factor), element);
        }
    }
}

/// Replaces the elements of a row by those of another, except one of [`ELEMENTS_PER_VALUE`].
fn keep_some([place, ..]: [u32; 4], size: usize, row: &mut [u8], other: &[u8]) {
    let period = ELEMENTS_PER_VALUE.min((row.len() / size) as u64);
    let kept = u64::from(place) % period;
    for ((element, other), index) in row.chunks_exact_mut(size).zip(other.chunks_exact(size)).zip(0..) {
        if index % period != kept {
            element.copy_from_slice(other);
        }
    }
}

/// Replaces each element by one of the first few.
fn repeat_values(stream: Stream, size: usize, out: &mut [u8]) {
    let (values, rest) = out.split_at_mut(out.len().min(DISTINCT as usize * size));
    for (element, index) in rest.chunks_exact_mut(size).zip(0_u64..) {
        let [word, ..] = stream.group(ROW_GROUPS + index);
        let place = (u64::from(word) % DISTINCT) as usize * size;
        element.copy_from_slice(&values[place..place + size]);
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::{AllInputs, GraphFacts, fill, fill_among, tests::meta};

    /// Returns the rows of a tensor of 128 rows and 96 columns.
    fn rows(content: Content) -> Vec<Vec<f32>> {
        let bytes = fill(&meta(DType::Float32, &[2, 64, 96]), 7, content).unwrap();
        bytes.chunks(96 * 4).map(|row| row.chunks(4).map(|value| f32::load(value) as f32).collect()).collect()
    }

    #[test]
    fn spikes_of_both_signs_are_spread_over_the_tensor() {
        for (shape, expected) in [(&[2, 8][..], 2), (&[30, 8], 2), (&[2, 64, 96], 48), (&[4, 16_384], 64)] {
            let bytes = fill(&meta(DType::Float32, shape), 7, Content::Spikes).unwrap();
            let values: Vec<f64> = bytes.chunks(4).map(f32::load).collect();
            let spikes: Vec<f64> = values.iter().copied().filter(|value| value.abs() >= 99.0).collect();
            assert_eq!(spikes.len(), expected, "{shape:?}");
            // A kernel that computes in float16 turns the positive ones into infinity.
            assert!(spikes.chunks(2).all(|pair| pair[0] > 65_504.0 && pair[1] < 0.0), "{spikes:?}");
            // A mean of three of four elements leaves out some spikes. It was called right.
            let left_out = values.iter().skip(3).step_by(4).filter(|value| value.abs() >= 99.0).count();
            assert!(expected < 48 || (expected / 8..expected / 2).contains(&left_out), "{left_out}");
        }
    }

    /// A pass over vectors that computes in float16 was accepted.
    #[test]
    fn tensors_without_rows_have_spikes_if_no_other_input_has_rows() {
        for shape in [&[4096][..], &[2], &[65], &[300, 1]] {
            let bytes = fill(&meta(DType::Float32, shape), 7, Content::Spikes).unwrap();
            let spikes: Vec<f64> = bytes.chunks(4).map(f32::load).filter(|value| value.abs() >= 99.0).collect();
            assert!(spikes.len() >= 2 && spikes.iter().any(|&spike| spike > 65_504.0), "{shape:?} {spikes:?}");
            assert!(spikes.iter().any(|&spike| spike < 0.0), "{shape:?} {spikes:?}");
        }
    }

    #[test]
    fn rows_are_ordinary_repeated_small_and_sparse_in_turns() {
        let rows = rows(Content::Uneven);
        let differences = |row: usize| (0..96).filter(|&at| rows[row][at] != rows[row - 1][at]).count();
        let largest = |row: usize| rows[row].iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let zeros = |row: usize| rows[row].iter().filter(|&&value| value == 0.0).count();
        let first = (1..5).find(|&row| differences(row) <= 2).unwrap();
        for row in (first..124).step_by(4) {
            assert!(differences(row) >= 1 && largest(row) > 1.0, "{row}");
            assert!((1e-7..0.1).contains(&largest(row + 1)), "{row}");
            assert!((94..=95).contains(&zeros(row + 2)), "{row}");
        }
    }

    /// Norms over several dimensions without their epsilons were accepted: one of four rows is small in `uneven` contents, and not the others.
    #[test]
    fn parts_along_the_first_dimension_are_small_as_a_whole() {
        let (mut least, mut most) = (f64::MAX, 0.0_f64);
        for seed in 0..40 {
            let bytes = fill(&meta(DType::Float32, &[1, 4, 27, 27]), seed, Content::Scaled).unwrap();
            for part in bytes.chunks(4 * 27 * 27) {
                let squares: f64 = part.chunks(4).map(|value| f32::load(value).powi(2)).sum();
                let deviation = (squares / 729.0).sqrt();
                (least, most) = (least.min(deviation), most.max(deviation));
            }
        }
        assert!(least < 1e-5 && (0.03..0.3).contains(&most), "{least} {most}");
    }

    #[test]
    fn scales_have_few_distinct_values_and_no_spikes() {
        for (content, expected) in [(Content::Uneven, 4), (Content::Spikes, 64)] {
            let (rows, scale) = (meta(DType::Float32, &[8, 64]), meta(DType::Float32, &[64]));
            let bytes =
                fill_among(&scale, 1, 7, content, AllInputs::of(&[rows, scale.clone()], &GraphFacts::default()))
                    .unwrap();
            let mut values: Vec<u32> = bytes.chunks(4).map(|value| (f32::load(value) as f32).to_bits()).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), expected, "{content}");
            assert!(values.iter().all(|&bits| f32::from_bits(bits).abs() < 20.0));
        }
    }
}
