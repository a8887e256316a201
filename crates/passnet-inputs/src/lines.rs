//! Lines of a tensor: its rows, or its parts along another dimension.

use passnet_record::TensorMeta;

use crate::content::Content;
use crate::philox::Stream;

/// Number of kinds of lines and runs: all of the first kind, all of the second kind, and mixed.
pub(crate) const KINDS: u64 = 3;

/// Number of the group of random words that chooses a dimension.
const DIMENSION_GROUP: u64 = 1 << 60;

/// All lines of a tensor along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) count: u64,
    pub(crate) length: u64,
    /// Number of elements from one place of a line to the next.
    stride: u64,
}

impl Lines {
    /// Returns the rows of a tensor, or, for `columns` contents, its lines along another dimension, which is random.
    pub(crate) fn of(meta: &TensorMeta, content: Content, stream: &Stream) -> Self {
        let elements: u64 = meta.shape.iter().product::<u64>().max(1);
        let others: Vec<usize> = other_dimensions(meta).collect();
        let [word, ..] = stream.group(DIMENSION_GROUP);
        let (length, stride) = match others.get(word as usize % others.len().max(1)) {
            Some(&dimension) if content == Content::Columns => {
                (meta.shape[dimension], meta.shape[dimension + 1..].iter().product::<u64>().max(1))
            }
            _ => match meta.shape.last() {
                // A column is one row.
                None | Some(0 | 1) => (elements, 1),
                Some(&width) => (width, 1),
            },
        };
        Self { count: elements / length, length, stride }
    }

    /// Returns the number of the line of an element, and its place there.
    pub(crate) const fn at(self, index: u64) -> (u64, u64) {
        let place = index / self.stride;
        (place / self.length * self.stride + index % self.stride, place % self.length)
    }
}

/// Returns the dimensions of more than one element, except the last one of these.
pub(crate) fn other_dimensions(meta: &TensorMeta) -> impl Iterator<Item = usize> + '_ {
    let long = |dimension: &usize| meta.shape[*dimension] > 1;
    let last = (0..meta.shape.len()).rev().find(long).unwrap_or(0);
    (0..last).filter(long)
}

/// Returns the kind of a line or run. Each three of them have all kinds, in random order, so that no tensor lacks one by chance.
pub(crate) fn kind_of(number: u64, stream: &Stream, top: u64) -> u64 {
    let [first, order, ..] = stream.group(top - number / KINDS);
    let place = number % KINDS;
    let place = if order.is_multiple_of(2) { place } else { KINDS - 1 - place };
    (place + u64::from(first)) % KINDS
}

/// Returns the first changed place of a line in `divided` contents. The number of elements in front of it, or behind it, is often small: a
/// pass may look at most of a line. A pass looks at the first elements rather than at the last ones, so the latter change more often.
pub(crate) fn first_changed(line: u64, length: u64, stream: &Stream) -> u64 {
    let [most, place, kind, _] = stream.group(u64::MAX / 2 - line);
    // Uniform in the logarithm, between 1 and the length.
    let most = length >> (most % length.ilog2().max(1));
    let few = 1 + u64::from(place) % most.max(1);
    if kind % 4 == 0 { few % length } else { length - few.min(length) }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::tests::meta;

    #[test]
    fn lines_of_columns_follow_another_dimension() {
        let stream = Stream::new(1, "x");
        let of = |shape: &[u64], content| Lines::of(&meta(DType::Bool, shape), content, &stream);
        assert_eq!(of(&[3, 4], Content::Discrete).at(6), (1, 2));
        let columns = of(&[3, 4], Content::Columns);
        assert_eq!((columns, columns.at(6)), (Lines { count: 4, length: 3, stride: 4 }, (2, 1)));
        let inner = of(&[1, 2, 3, 4, 1], Content::Discrete);
        assert_eq!((inner.count, inner.length), (1, 24));
        assert_eq!(of(&[], Content::Columns).at(0), (0, 0));
        let dimensions = |shape: &[u64]| other_dimensions(&meta(DType::Bool, shape)).collect::<Vec<_>>();
        assert_eq!((dimensions(&[2, 1, 3, 4, 1]), dimensions(&[1, 9])), (vec![0, 2], vec![]));
    }
}
