//! Contents in which tensors of the same shape are nearly equal.
//!
//! Random tensors are independent, so two of them are equal nowhere, or in whole rows. A pass could compare a few elements of two rows and
//! answer for all of them.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::rule::is_drawn;

/// Number of kinds of rows.
const KINDS: u64 = 4;
/// First group of random words for rows.
const ROW_GROUPS: u64 = 1 << 57;

/// Returns the first drawn tensor of the same shape and type in front of the one with the given number.
pub(crate) fn original(number: usize, metas: &[TensorMeta]) -> Option<&TensorMeta> {
    let meta = metas.get(number).filter(|meta| is_drawn(meta))?;
    let is_like = |other: &&TensorMeta| is_drawn(other) && other.shape == meta.shape && other.dtype == meta.dtype;
    metas[..number].iter().find(is_like)
}

/// Returns whether some tensor is changed.
pub(crate) fn has_copies(metas: &[TensorMeta]) -> bool {
    (0..metas.len()).any(|number| original(number, metas).is_some())
}

/// Replaces rows of a filled tensor by those of another one of the same shape and type. Of four neighbouring rows, two are equal to those of
/// the other tensor, one is equal except for one element, and one stays.
pub(crate) fn change(meta: &TensorMeta, stream: Stream, from: &[u8], out: &mut [u8]) {
    let size = meta.dtype.size();
    let width = meta.shape.last().map_or(1, |&width| width.max(1)) as usize;
    let [start, ..] = stream.group(ROW_GROUPS);
    let rows = out.chunks_mut(width * size).zip(from.chunks(width * size));
    for ((row, from), number) in rows.zip(0_u64..) {
        let [place, ..] = stream.group(ROW_GROUPS + 1 + number);
        let kept = match (number + u64::from(start)) % KINDS {
            0 => continue,
            1 => Some(place as usize % width),
            _ => None,
        };
        for (index, (element, from)) in row.chunks_exact_mut(size).zip(from.chunks_exact(size)).enumerate() {
            if kept != Some(index) {
                element.copy_from_slice(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use crate::{AllInputs, Content, GraphFacts, fill_among, is_asked, tests::meta};

    use super::*;

    /// A pass that compared every sixteenth element of two rows was accepted.
    #[test]
    fn some_rows_of_two_tensors_differ_in_one_element() {
        let named = |name: &str, shape: &[u64]| TensorMeta { name: name.to_owned(), ..meta(DType::Float32, shape) };
        let metas = [named("in_0", &[40, 64]), named("in_1", &[40]), named("in_2", &[40, 64])];
        let facts = GraphFacts::default();
        let [first, second] = [0, 2].map(|number| {
            fill_among(&metas[number], number, 3, Content::Copies, AllInputs::of(&metas, &facts)).unwrap()
        });
        let differences = first
            .chunks(256)
            .zip(second.chunks(256))
            .map(|(left, right)| left.chunks(4).zip(right.chunks(4)).filter(|(left, right)| left != right).count());
        let mut counts = [0; 3];
        differences.for_each(|count| counts[count.min(2)] += 1);
        assert_eq!(counts, [20, 10, 10]);
        assert!(is_asked(Content::Copies, &metas) && !is_asked(Content::Copies, &metas[..2]));
    }
}
