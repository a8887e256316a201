//! Search for op sequences that are contained in longer ones.

use std::collections::BTreeSet;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::store::SampleRow;

/// Returns the pairs (needle, haystack) of indices for which the ops of the needle are a contiguous part of a longer haystack, in
/// order.
///
/// Each window of a haystack that is as long as some needle is looked up in a table. The time is proportional to the number of
/// ops of the haystacks times the sum of the different lengths of needles.
pub(super) fn contained(needles: &[Vec<u32>], haystacks: &[Vec<u32>]) -> Vec<(usize, usize)> {
    let mut by_ops: FxHashMap<&[u32], Vec<usize>> = FxHashMap::default();
    for (index, needle) in needles.iter().enumerate().filter(|(_, needle)| !needle.is_empty()) {
        by_ops.entry(needle).or_default().push(index);
    }
    let lengths: BTreeSet<usize> = by_ops.keys().map(|needle| needle.len()).collect();
    let found: Vec<Vec<(usize, usize)>> = haystacks
        .par_iter()
        .enumerate()
        .map(|(index, haystack)| {
            // Equal lengths are excluded: equal sequences are hard leaks, which are counted elsewhere.
            let windows = lengths.range(..haystack.len()).flat_map(|length| haystack.windows(*length));
            let inside: BTreeSet<usize> = windows.filter_map(|window| by_ops.get(window)).flatten().copied().collect();
            inside.into_iter().map(|needle| (needle, index)).collect()
        })
        .collect();
    let mut pairs: Vec<(usize, usize)> = found.into_iter().flatten().collect();
    // Sorted by needle, because the threads found the pairs by haystack.
    pairs.sort_unstable();
    pairs
}

/// Numbers for op names.
#[derive(Default)]
pub(super) struct OpNumbers(FxHashMap<String, u32>);

impl OpNumbers {
    pub(super) fn of(&mut self, ops: &[String]) -> Vec<u32> {
        let number = |op: &String| {
            let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
            *self.0.entry(op.clone()).or_insert(next)
        };
        ops.iter().map(number).collect()
    }
}

/// Ops of full graphs, as half-open ranges that were added.
#[derive(Default)]
pub(super) struct OpPlaces(FxHashMap<String, FxHashSet<u32>>);

impl OpPlaces {
    pub(super) fn add(&mut self, path: &str, start: u32, end: u32) {
        self.0.entry(path.to_owned()).or_default().extend(start..end);
    }

    /// Adds the ranges from which a graph was cut.
    pub(super) fn add_origins(&mut self, row: &SampleRow) {
        row.origins.iter().for_each(|origin| self.add(&origin.path, origin.range.start, origin.range.end));
    }

    /// Returns whether a graph was cut from a range that shares an op with an added range.
    pub(super) fn has_origin_of(&self, row: &SampleRow) -> bool {
        row.origins.iter().any(|origin| self.overlaps(&origin.path, origin.range.start, origin.range.end))
    }

    /// Returns whether a range shares an op with an added range.
    pub(super) fn overlaps(&self, path: &str, start: u32, end: u32) -> bool {
        self.0.get(path).is_some_and(|places| (start..end).any(|op| places.contains(&op)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_shorter_sequence_is_found_once_and_an_equal_one_is_not() {
        let sequences = |texts: &[&[u32]]| texts.iter().map(|ops| ops.to_vec()).collect::<Vec<_>>();
        let needles = sequences(&[&[1, 2], &[3], &[], &[1, 2, 3], &[2, 1]]);
        let haystacks = sequences(&[&[1, 2, 1, 2], &[1, 2, 3], &[3]]);
        assert_eq!(contained(&needles, &haystacks), [(0, 0), (0, 1), (1, 1), (4, 0)]);
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        let mut places = OpPlaces::default();
        places.add("a", 3, 5);
        assert!(places.overlaps("a", 0, 4) && places.overlaps("a", 4, 9));
        assert!(!places.overlaps("a", 0, 3) && !places.overlaps("a", 5, 9) && !places.overlaps("b", 3, 5));
    }

    proptest! {
        #[test]
        fn the_table_finds_what_a_search_finds(
            needles in prop::collection::vec(prop::collection::vec(0_u32..3, 0..5), 0..8),
            haystacks in prop::collection::vec(prop::collection::vec(0_u32..3, 0..8), 0..8),
        ) {
            let mut expected = Vec::new();
            for (n, needle) in needles.iter().enumerate() {
                for (h, haystack) in haystacks.iter().enumerate() {
                    let inside = !needle.is_empty()
                        && needle.len() < haystack.len()
                        && haystack.windows(needle.len()).any(|window| window == needle);
                    expected.extend(inside.then_some((n, h)));
                }
            }
            prop_assert_eq!(contained(&needles, &haystacks), expected);
        }
    }
}
