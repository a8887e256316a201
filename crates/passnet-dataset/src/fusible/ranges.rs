use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use crate::fold::OpRange;

/// Returns the fusible ranges of a graph whose first `k` ops compile to `kernels[k - 1]` kernels.
///
/// In a range, the first op starts a kernel and the others start none. A count may fall from a prefix to the next, because every
/// prefix has other outputs. The published rule smooths the counts in these steps:
/// 1. If a count occurs again later, all prefixes between get it, unless they have a smaller one.
/// 2. Maximal stretches of equal smoothed counts are candidates. Neighbours are joined if the measured count does not rise from
///    one to the next.
/// 3. A candidate of at least two ops stays, unless its measured count ends above the value at its begin, or its last change was
///    a rise.
///
/// Ranges are ascending and disjoint. `offset` is added to both ends. Time is O(n log n).
pub fn fusible_ranges(kernels: &[u32], offset: u32) -> Vec<OpRange> {
    let smoothed = smooth(kernels);
    let mut ranges = Vec::new();
    let mut first = 0;
    for end in 1..=kernels.len() {
        let joined = end < kernels.len() && (smoothed[end - 1] == smoothed[end] || kernels[end - 1] >= kernels[end]);
        if joined {
            continue;
        }
        let counts = &kernels[first..end];
        let rises = counts.first() < counts.last();
        let last_change = counts.windows(2).rev().find(|pair| pair[0] != pair[1]);
        let tail_rises = last_change.is_some_and(|pair| pair[0] < pair[1]);
        if counts.len() > 1 && !rises && !tail_rises {
            ranges.push(OpRange::new(first as u32 + offset, end as u32 + offset));
        }
        first = end;
    }
    ranges
}

/// Returns, for each prefix, the smallest count whose first and last occurrence enclose the prefix.
fn smooth(kernels: &[u32]) -> Vec<u32> {
    // The map is only used for look-ups and never iterated, so its order does not matter.
    let last: HashMap<u32, usize> = kernels.iter().enumerate().map(|(k, &count)| (count, k)).collect();
    // Counts seen so far, smallest first. A count that does not occur again is removed when it comes to the top.
    let mut open = BinaryHeap::new();
    let mut smoothed = Vec::with_capacity(kernels.len());
    for (k, &count) in kernels.iter().enumerate() {
        open.push(Reverse(count));
        while let Some(&Reverse(smallest)) = open.peek() {
            // A later occurrence extends the count up to this prefix.
            if last[&smallest] >= k {
                smoothed.push(smallest);
                break;
            }
            open.pop();
        }
    }
    smoothed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(kernels: &[u32]) -> Vec<(u32, u32)> {
        fusible_ranges(kernels, 0).into_iter().map(Into::into).collect()
    }

    #[test]
    fn published_examples() {
        assert_eq!(pairs(&[1, 1, 1]), [(0, 3)]);
        assert_eq!(pairs(&[0, 0, 1, 1]), [(0, 2), (2, 4)]);
        assert_eq!(pairs(&[1, 2, 3]), []);
        assert_eq!(pairs(&[1, 2, 1]), [(0, 3)]);
        assert_eq!(pairs(&[2, 1, 2]), [(0, 2)]);
        assert_eq!(pairs(&[2, 2, 3, 2, 3, 3]), [(0, 4), (4, 6)]);
        assert_eq!(pairs(&[5, 5, 4, 5, 5]), [(0, 3), (3, 5)]);
        assert_eq!(pairs(&[1, 3, 2, 4, 2]), [(1, 5)]);
        assert_eq!(pairs(&[1]), []);
        assert_eq!(pairs(&[]), []);
    }

    proptest! {
        #[test]
        fn ranges_are_ascending_disjoint_and_end_no_higher_than_they_begin(
            kernels in prop::collection::vec(0_u32..8, 0..40),
            offset in 0_u32..100,
        ) {
            let mut end = offset;
            for range in fusible_ranges(&kernels, offset) {
                prop_assert!(range.start >= end && range.len() >= 2);
                end = range.end;
                let (first, last) = ((range.start - offset) as usize, (range.end - offset) as usize - 1);
                prop_assert!(kernels[first] >= kernels[last]);
            }
            prop_assert!(end as usize <= kernels.len() + offset as usize);
        }

        #[test]
        fn a_count_added_everywhere_changes_nothing(kernels in prop::collection::vec(0_u32..8, 0..40)) {
            let raised: Vec<u32> = kernels.iter().map(|count| count + 3).collect();
            prop_assert_eq!(pairs(&raised), pairs(&kernels));
        }
    }
}
