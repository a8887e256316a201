//! Tandem repeats: stretches of a sequence in which a body of limited length is followed by itself.

use std::collections::BinaryHeap;

/// A stretch `start..end` that repeats with a period: `tokens[i] == tokens[i + period]` at all positions.
///
/// The derived order ranks runs by length, then by smaller period, then by earlier start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TandemRun {
    len: usize,
    period: std::cmp::Reverse<usize>,
    start: std::cmp::Reverse<usize>,
}

impl TandemRun {
    fn new(start: usize, end: usize, period: usize) -> Self {
        Self { len: end - start, period: std::cmp::Reverse(period), start: std::cmp::Reverse(start) }
    }

    fn end(self) -> usize {
        self.start.0 + self.len
    }
}

/// Bodies of one chosen run: `count` copies of `period` tokens from `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChosenRun {
    pub(super) start: usize,
    pub(super) period: usize,
    pub(super) count: usize,
}

impl ChosenRun {
    pub(super) fn end(self) -> usize {
        self.start + self.period * self.count
    }
}

/// Returns disjoint loops of bodies shorter than `max_period`, in the order of their positions. The longest runs are chosen
/// first, and later runs are cut where they overlap a chosen one. Each body begins at its smallest rotation, which does not
/// depend on the start of the run.
///
/// Time is O(tokens * max_period) comparisons of two integers.
pub(super) fn loops(tokens: &[u32], max_period: usize) -> Vec<ChosenRun> {
    let mut candidates = BinaryHeap::new();
    for period in 1..max_period.min(tokens.len() / 2 + 1) {
        let mut start = 0;
        while start + period < tokens.len() {
            // `matches` equal pairs at one distance are a run of `matches + period` tokens.
            let matches = tokens[start..].iter().zip(&tokens[start + period..]).take_while(|(a, b)| a == b).count();
            if matches >= period {
                candidates.push(TandemRun::new(start, start + period + matches, period));
            }
            // The token after the matches differs from the one a period later, so no run of this period crosses it.
            start += matches + 1;
        }
    }
    let mut taken = vec![false; tokens.len()];
    let mut chosen = Vec::new();
    while let Some(run) = candidates.pop() {
        let (start, end, period) = (run.start.0, run.end(), run.period.0);
        // Chosen loops are at least as long as this run, so a loop that overlaps the run covers one of its ends, or all of it.
        let free_start = (start..end).find(|&i| !taken[i]).unwrap_or(end);
        let free_end = (free_start..end).find(|&i| taken[i]).unwrap_or(end);
        if (free_start, free_end) != (start, end) {
            if free_end - free_start >= 2 * period {
                candidates.push(TandemRun::new(free_start, free_end, period));
            }
            continue;
        }
        let start = start + smallest_rotation(&tokens[start..start + period]);
        let count = (end - start) / period;
        // Rotation may cost one of two copies, and a single copy is not a loop.
        if count >= 2 {
            let found = ChosenRun { start, period, count };
            taken[start..found.end()].fill(true);
            chosen.push(found);
        }
    }
    chosen.sort_unstable_by_key(|found| found.start);
    chosen
}

/// Returns the index at which the lexicographically smallest rotation of `body` begins. If several are equal, the first one
/// counts.
///
/// Booth's two-pointer method, in linear time.
fn smallest_rotation(body: &[u32]) -> usize {
    let len = body.len();
    let at = |i: usize| body[i % len];
    let (mut best, mut rival, mut equal) = (0, 1, 0);
    while best < len && rival < len && equal < len {
        match at(best + equal).cmp(&at(rival + equal)) {
            std::cmp::Ordering::Equal => {
                equal += 1;
                continue;
            }
            std::cmp::Ordering::Less => rival += equal + 1,
            std::cmp::Ordering::Greater => best += equal + 1,
        }
        if best == rival {
            rival += 1;
        }
        equal = 0;
    }
    best.min(rival)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_outer_loop_wins_and_begins_at_its_smallest_rotation() {
        // 9, then (3 1 1 2) four times: the body that begins with 1 1 is smallest.
        let mut tokens = vec![9];
        tokens.extend([3, 1, 1, 2].repeat(4));
        let leftover = ChosenRun { start: 14, period: 1, count: 2 };
        assert_eq!(loops(&tokens, 8), [ChosenRun { start: 2, period: 4, count: 3 }, leftover]);
        assert_eq!(loops(&[5; 7], 8), [ChosenRun { start: 0, period: 1, count: 7 }]);
        assert_eq!(loops(&[1, 2, 3], 8), []);
        assert_eq!(loops(&[], 8), []);
    }

    proptest! {
        #[test]
        fn rotation_is_the_smallest(body in prop::collection::vec(0_u32..3, 1..12)) {
            let rotate = |by: usize| [&body[by..], &body[..by]].concat();
            let smallest = (0..body.len()).map(rotate).min();
            prop_assert_eq!(Some(rotate(smallest_rotation(&body))), smallest);
        }

        #[test]
        fn loops_repeat_and_do_not_overlap(tokens in prop::collection::vec(0_u32..3, 0..60)) {
            let mut end = 0;
            for found in loops(&tokens, 16) {
                prop_assert!(found.start >= end && found.count >= 2);
                end = found.end();
                let bodies: Vec<_> = tokens[found.start..end].chunks(found.period).collect();
                prop_assert!(bodies.iter().all(|body| *body == bodies[0]));
            }
            prop_assert!(end <= tokens.len());
        }
    }
}
