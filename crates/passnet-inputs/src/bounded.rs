//! Contents in which bounded integers are not independent and uniform.
//!
//! In random contents, no row of a mask of zeros and ones is all zero, a padding token out of 250,000 does not occur, and two tensors of
//! tokens are nowhere equal. A pass could rely on each of these.

use passnet_record::TensorMeta;

use crate::philox::Stream;
use crate::{
    content::Content,
    facts::AllInputs,
    integers::{integer_range, uniform},
    lines::{KINDS, Lines, first_changed, kind_of},
};

/// Number of elements in a run.
const RUN: u64 = 16;
/// One of this number of ordinary elements is an integer of the graph.
const ELEMENTS_PER_CONSTANT: u32 = 4;
/// One of this number of ordinary elements is equal to the one at the same place of the other tensors of the same shape.
const ELEMENTS_PER_MEETING: u32 = 8;
/// One of this number of runs is equal to that of the other tensors of the same shape.
const RUNS_PER_MEETING: u32 = 4;
/// First groups of random words for lines and for runs. The values use groups from the beginning of the stream.
const LINE_GROUPS: u64 = 1 << 61;
const RUN_GROUPS: u64 = 1 << 62;

/// Values of one line.
#[derive(Clone, Copy)]
enum Line {
    /// All are equal.
    Same(i128),
    /// Runs of several kinds.
    Mixed,
    /// They change at one place. `None` are ordinary values.
    Divided { at: u64, parts: [Option<i128>; 2] },
}

/// Fills a tensor whose integers have a range.
pub(crate) fn fill(
    meta: &TensorMeta,
    seed: u64,
    content: Content,
    all: AllInputs<'_>,
    range: (i128, i128),
    out: &mut [u8],
) {
    let values = Values::new(meta, seed, all, range);
    let lines = Lines::of(meta, content, &values.stream);
    let kinds: Vec<Line> = (0..lines.count).map(|number| values.line(number, lines, content)).collect();
    let size = meta.dtype.size();
    for (index, element) in (0_u64..).zip(out.chunks_mut(size)) {
        let (line, place) = lines.at(index);
        let value = match kinds[line as usize] {
            Line::Same(value) => value,
            Line::Mixed => values.in_run(index),
            Line::Divided { at, parts } => parts[usize::from(place >= at)].unwrap_or_else(|| values.ordinary(index)),
        };
        element.copy_from_slice(&value.to_ne_bytes()[..size]);
    }
}

/// Values of a tensor.
struct Values {
    stream: Stream,
    /// Stream of all tensors of this shape.
    common: Stream,
    range: (i128, i128),
    /// Integers that all ranges of tensors of this shape have; `None` if there is no other such tensor.
    common_range: Option<(i128, i128)>,
    /// Integers of the graph that are in the range.
    constants: Vec<i128>,
}

impl Values {
    fn new(meta: &TensorMeta, seed: u64, all: AllInputs<'_>, range: (i128, i128)) -> Self {
        let ranges = all.metas.iter().filter(|other| other.shape == meta.shape && other.name != meta.name);
        let ranges = ranges.filter(|other| other.dtype.is_int()).filter_map(|other| integer_range(other)?.ok());
        let common_range = ranges.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
        let common_range = common_range.map(|(low, high)| (low.max(range.0), high.min(range.1)));
        let constants = all.facts.integers.iter().map(|&integer| i128::from(integer));
        Self {
            stream: Stream::new(seed, &meta.name),
            common: Stream::new(seed, "integers of all tensors of a shape"),
            range,
            common_range: common_range.filter(|(low, high)| low <= high),
            constants: constants.filter(|value| (range.0..=range.1).contains(value)).collect(),
        }
    }

    /// Returns the values of a line. Of three neighbouring lines, two have the least and the largest number.
    fn line(&self, number: u64, lines: Lines, content: Content) -> Line {
        let (low, high) = self.range;
        let words = self.stream.group(LINE_GROUPS + number);
        let has_kinds = content != Content::Divided && lines.count >= KINDS;
        let kind = if has_kinds { kind_of(number, &self.stream, u64::MAX) } else { KINDS - 1 };
        match (kind, content) {
            (0, _) => Line::Same(low),
            (1, _) => Line::Same(high),
            (_, Content::Discrete) if has_kinds && words[0].is_multiple_of(4) => Line::Same(self.some(words)),
            (_, Content::Discrete) => Line::Mixed,
            _ => {
                let some = self.some(words);
                let parts = match words[0] % 6 {
                    0 => [Some(low), Some(high)],
                    1 => [Some(high), Some(low)],
                    2 => [None, Some(low)],
                    3 => [None, Some(high)],
                    4 => [None, Some(some)],
                    _ => [Some(some), None],
                };
                Line::Divided { at: first_changed(number, lines.length, &self.stream), parts }
            }
        }
    }

    /// Returns a random integer, often one of the graph.
    fn some(&self, [_, choice, a, b]: [u32; 4]) -> i128 {
        match self.constants.len() {
            count @ 1.. if choice.is_multiple_of(2) => self.constants[a as usize % count],
            _ => uniform(self.range, [a, b]),
        }
    }

    /// Returns an element of a line of runs.
    fn in_run(&self, index: u64) -> i128 {
        let (low, high) = self.range;
        let run = self.stream.group(RUN_GROUPS + index / RUN);
        let [meets, ..] = self.common.group(RUN_GROUPS + index / RUN);
        if let Some(range) = self.common_range.filter(|_| meets.is_multiple_of(RUNS_PER_MEETING)) {
            return uniform(range, self.common_words(index));
        }
        let is_first = || self.stream.group(index)[0].is_multiple_of(2);
        match run[0] % 6 {
            0 => low,
            1 => high,
            2 => self.some(run),
            3 => {
                if is_first() {
                    low
                } else {
                    high
                }
            }
            4 => {
                if is_first() {
                    low
                } else {
                    self.some(run)
                }
            }
            _ => self.ordinary(index),
        }
    }

    /// Returns a value as in random contents, but at times an integer of the graph, or of another tensor.
    fn ordinary(&self, index: u64) -> i128 {
        let [a, b, choice, constant] = self.stream.group(index);
        let [meets, ..] = self.common.group(index);
        if let Some(range) = self.common_range.filter(|_| meets.is_multiple_of(ELEMENTS_PER_MEETING)) {
            return uniform(range, self.common_words(index));
        }
        match self.constants.len() {
            count @ 1.. if choice.is_multiple_of(ELEMENTS_PER_CONSTANT) => self.constants[constant as usize % count],
            _ => uniform(self.range, [a, b]),
        }
    }

    /// Returns random words that are the same for all tensors of this shape.
    fn common_words(&self, index: u64) -> [u32; 2] {
        let [_, a, b, _] = self.common.group(index);
        [a, b]
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::{GraphFacts, fill_among, tests::meta};

    fn bounded(shape: &[u64], max: f64) -> TensorMeta {
        TensorMeta { min_val: Some(0.0), max_val: Some(max), ..meta(DType::Int64, shape) }
    }

    fn values(metas: &[TensorMeta], number: usize, seed: u64, content: Content) -> Vec<i64> {
        let facts = GraphFacts { integers: vec![1, 0, 2, -100], ..GraphFacts::default() };
        let bytes = fill_among(&metas[number], number, seed, content, AllInputs::of(metas, &facts)).unwrap();
        bytes.as_chunks().0.iter().map(|&value| i64::from_ne_bytes(value)).collect()
    }

    /// Passes that returned "not all" and "some" without a look at the mask were accepted.
    #[test]
    fn some_rows_of_a_mask_are_all_zero_and_some_all_one() {
        let metas = [bounded(&[6, 200], 1.0)];
        for seed in 0..20 {
            let sums: Vec<i64> =
                values(&metas, 0, seed, Content::Discrete).chunks(200).map(|row| row.iter().sum()).collect();
            assert!(sums.contains(&0) && sums.contains(&200), "{sums:?}");
            assert!(values(&metas, 0, seed, Content::Random).chunks(200).all(|row| row.contains(&1)));
        }
    }

    /// Passes that looked at the first rows of a column were accepted.
    #[test]
    fn some_columns_are_all_zero_and_some_change_at_one_place() {
        for dtype in [DType::Bool, DType::Int8] {
            let meta = TensorMeta { min_val: Some(0.0), max_val: Some(1.0), ..meta(dtype, &[200, 9]) };
            let mask = fill_among(
                &meta,
                0,
                3,
                Content::Columns,
                AllInputs::of(std::slice::from_ref(&meta), &GraphFacts::default()),
            )
            .unwrap();
            let column = |column| mask.iter().skip(column).step_by(9).map(|&value| usize::from(value));
            let sums: Vec<usize> = (0..9).map(|number| column(number).sum()).collect();
            assert!(sums.contains(&0) && sums.contains(&200), "{sums:?}");
            let differs = |number: &usize| sums[*number] != 200 * column(*number).next().unwrap();
            assert!((0..9).filter(differs).count() >= 2, "{sums:?}");
        }
    }

    /// A pass that left out padding tokens, and one that took no two tokens for equal, were accepted.
    #[test]
    fn integers_of_the_graph_occur_and_tensors_meet() {
        let other = TensorMeta { name: "in_1".to_owned(), ..bounded(&[8, 512], 1_000_000.0) };
        let metas = [bounded(&[8, 512], 250_001.0), other];
        let mut meetings = 0;
        for content in [Content::Discrete, Content::Divided, Content::Columns] {
            let [first, second] = [0, 1].map(|number| values(&metas, number, 5, content));
            assert!([0, 1, 2].iter().all(|token| first.contains(token)), "{content}");
            assert!(first.iter().all(|token| (0..=250_001).contains(token)));
            meetings += first.iter().zip(&second).filter(|(a, b)| a == b && **a > 2).count();
        }
        assert!(meetings > 20, "{meetings}");
        let alone = [bounded(&[1, 512], 250_001.0)];
        assert!((0..20).all(|seed| values(&alone, 0, seed, Content::Discrete).contains(&1)));
    }

    #[test]
    fn divided_rows_change_at_one_place() {
        let metas = [bounded(&[600, 64], 1.0)];
        let rows = values(&metas, 0, 5, Content::Divided);
        let is_step = |row: &&[i64]| row.windows(2).filter(|pair| pair[0] != pair[1]).count() == 1;
        let steps = rows.chunks(64).filter(is_step).count();
        assert!((120..320).contains(&steps), "{steps}");
    }
}
