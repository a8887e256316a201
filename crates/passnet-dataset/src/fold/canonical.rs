//! The default folding, whose cuts depend only on nearby ops. See `docs/reference/folding.md`.

use rayon::prelude::*;

use super::{
    OpRange, SizeBounds, anchors,
    runs::{ChosenRun, loops},
};

/// Settings of [`fold_canonical`].
#[derive(Clone, Copy, Debug)]
pub struct CanonicalSettings {
    /// Sizes of the ranges.
    pub bounds: SizeBounds,
    /// Outside loops, a cut is the smallest position among its neighbours up to this many ops away, so pieces have about this
    /// length. At least 1.
    pub reach: u32,
}

impl Default for CanonicalSettings {
    /// Returns sizes of 4 to 63 ops and a reach of 16.
    fn default() -> Self {
        Self { bounds: SizeBounds::DEFAULT, reach: 16 }
    }
}

/// Cuts each graph into ranges within bounds. Graphs do not influence one another.
///
/// `sequences` are the op names of each graph in program order. Graphs are folded in parallel.
pub fn fold_canonical<S: AsRef<str> + Sync>(sequences: &[Vec<S>], settings: &CanonicalSettings) -> Vec<Vec<OpRange>> {
    sequences.par_iter().map(|sequence| fold_one(sequence, settings)).collect()
}

fn fold_one<S: AsRef<str>>(sequence: &[S], settings: &CanonicalSettings) -> Vec<OpRange> {
    let tokens = ranks(sequence);
    let mut cutter = Cutter { tokens: &tokens, bounds: settings.bounds, ranges: Vec::new() };
    let reach = settings.reach.max(1) as usize;
    let mut done = 0;
    // Loops come first, because the layers of a model are the pieces that occur again in other models.
    for found in loops(&tokens, settings.bounds.max() as usize) {
        cutter.cut(done, found.start, reach);
        cutter.take_loop(found);
        done = found.end();
    }
    cutter.cut(done, tokens.len(), reach);
    cutter.ranges
}

/// Replaces each name by its rank among the names of the sequence, in the order of [`anchors::key`].
fn ranks<S: AsRef<str>>(sequence: &[S]) -> Vec<u32> {
    let mut keys: Vec<_> = sequence.iter().map(|name| anchors::key(name.as_ref())).collect();
    // Ranks are used instead of hashes: comparing windows then compares integers, in the order of the names.
    let order = keys.clone();
    keys.sort_unstable();
    keys.dedup();
    order.iter().map(|key| keys.partition_point(|other| other < key) as u32).collect()
}

struct Cutter<'a> {
    tokens: &'a [u32],
    bounds: SizeBounds,
    /// Ranges found so far, in ascending order.
    ranges: Vec<OpRange>,
}

impl Cutter<'_> {
    fn admits(&self, len: usize) -> bool {
        u32::try_from(len).is_ok_and(|len| self.bounds.admit(len))
    }

    fn push(&mut self, start: usize, end: usize) {
        if self.admits(end - start) {
            self.ranges.push(OpRange::new(start as u32, end as u32));
        }
    }

    /// Adds one range per body, or per group of bodies if one body is below the minimal size. A remainder joins the last range.
    fn take_loop(&mut self, found: ChosenRun) {
        // A body may be shorter than any admitted range, as in `relu, add` repeated.
        let bodies = (self.bounds.min() as usize).div_ceil(found.period);
        let step = bodies * found.period;
        let mut start = found.start;
        while start + step <= found.end() {
            let rest = found.end() - start - step;
            // A separate remainder would mostly be too short to be kept.
            let last = rest < step && self.admits(step + rest);
            let end = if last { found.end() } else { start + step };
            self.push(start, end);
            start = end;
        }
    }

    /// Cuts `begin..end`, which is not a loop, where the following ops are smallest within `reach`.
    fn cut(&mut self, begin: usize, end: usize, reach: usize) {
        let mut cuts = vec![begin];
        cuts.extend((begin + 1..end).filter(|&at| self.is_cut(at, begin, end, reach)));
        cuts.push(end);
        // The first or the last piece may be too short by itself.
        let max = self.bounds.max() as usize;
        let min = self.bounds.min() as usize;
        if let [first, second, third, ..] = cuts[..]
            && second - first < min
            && third - first < max
        {
            cuts.remove(1);
        }
        if let [.., third, second, last] = cuts[..]
            && last - second < min
            && last - third < max
        {
            cuts.remove(cuts.len() - 2);
        }
        for piece in cuts.windows(2) {
            let (start, end) = (piece[0], piece[1]);
            if end - start < max {
                self.push(start, end);
            // A smaller neighbourhood has more smallest positions, so the piece is divided at places that other graphs share as
            // well.
            } else if reach / 2 >= min {
                self.cut(start, end, reach / 2);
            } else {
                self.chop(start, end);
            }
        }
    }

    /// Returns whether the tokens from `at` are smaller than those from any other place of `begin..end` within reach. Of equal
    /// places, the first one counts as the smallest.
    fn is_cut(&self, at: usize, begin: usize, end: usize, reach: usize) -> bool {
        let window = |from: usize| &self.tokens[from..end.min(from + reach)];
        let here = window(at);
        let before = begin.max(at.saturating_sub(reach - 1))..at;
        let after = at + 1..end.min(at + reach);
        before.into_iter().all(|other| here < window(other)) && after.into_iter().all(|other| here <= window(other))
    }

    /// Cuts a stretch that has no place to cut at into equal pieces of the largest admitted size.
    fn chop(&mut self, begin: usize, end: usize) {
        let pieces = (end - begin).div_ceil(self.bounds.max() as usize - 1);
        let size = (end - begin).div_ceil(pieces);
        for start in (begin..end).step_by(size) {
            self.push(start, end.min(start + size));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold(ops: &str) -> Vec<String> {
        let ops: Vec<&str> = ops.split_whitespace().collect();
        let bounds = SizeBounds::new(3, 10).unwrap();
        let ranges = fold_one(&ops, &CanonicalSettings { bounds, reach: 4 });
        ranges.into_iter().map(|range| ops[range.indices()].join(" ")).collect()
    }

    #[test]
    fn loop_bodies_begin_at_their_anchor_wherever_the_loop_begins() {
        let body = "linear add relu";
        let layers = [body; 3].join(" ");
        assert_eq!(fold(&layers), [body; 3]);
        assert_eq!(fold(&format!("relu {layers}")), [body; 3]);
        assert_eq!(fold(&format!("add relu {layers} linear")), [body; 3]);
    }

    #[test]
    fn short_bodies_are_joined_up_to_the_minimum() {
        assert_eq!(fold("linear relu linear relu linear relu"), ["linear relu linear relu linear relu"]);
        assert_eq!(fold(&"linear relu ".repeat(4)), ["linear relu linear relu"; 2]);
    }

    #[test]
    fn what_does_not_repeat_is_cut_before_anchors() {
        // The two ops before the convolution are too few for a range.
        assert_eq!(fold("a b conv2d c d e f linear g h"), ["a b conv2d c d e f", "linear g h"]);
        assert_eq!(fold("a b c"), ["a b c"]);
        assert!(fold("a b").is_empty() && fold("").is_empty());
    }

    proptest! {
        #[test]
        fn ranges_are_within_bounds_and_independent_of_the_batch(
            graphs in prop::collection::vec(prop::collection::vec("[a-d]", 0..120), 1..4),
            min in 1_u32..6,
            extra in 1_u32..20,
            reach in 0_u32..24,
        ) {
            let settings = CanonicalSettings { bounds: SizeBounds::new(min, min + extra).unwrap(), reach };
            let together = fold_canonical(&graphs, &settings);
            for (graph, ranges) in graphs.iter().zip(&together) {
                prop_assert_eq!(&fold_canonical(std::slice::from_ref(graph), &settings)[0], ranges);
                prop_assert!(ranges.iter().all(|range| settings.bounds.admit(range.len())));
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert!(ranges.last().is_none_or(|range| range.end as usize <= graph.len()));
            }
        }
    }
}
