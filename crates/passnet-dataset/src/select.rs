//! Selection of op sequences for an evaluation set: sequences with the most unseen transitions first, then rare ones.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use rustc_hash::{FxHashMap, FxHashSet};

/// Pseudo-count that is added to every transition.
const SMOOTHING: f64 = 1e-3;

/// Chooses `k` of `sequences` and returns their indices in the order of choice.
///
/// A transition is a pair of neighbouring ops. The worth of a sequence is the number of its transitions that no chosen sequence
/// has, times one plus its rarity. Ties are resolved by that number, then rarity, then length, then index. Rarity is the mean of
/// -ln P(next | op) over the transitions of the sequence, scaled to 0..=1 over all sequences. This is the published
/// `select_evaluation_subset`. As in that function, rare sequences are chosen first once every transition is covered.
///
/// The worth of a sequence only falls during the selection. So sequences wait in a heap, and a worth is computed again only when
/// its sequence is at the top: about O(n log n) for all practical inputs instead of O(k n).
pub fn select_subset<S: AsRef<str>>(sequences: &[Vec<S>], k: usize) -> Vec<usize> {
    if k >= sequences.len() {
        return (0..sequences.len()).collect();
    }
    let transitions = transitions(sequences);
    let rarity = rarity(sequences, &transitions);
    let distinct: Vec<Vec<(u32, u32)>> = transitions
        .iter()
        .map(|pairs| {
            let mut pairs = pairs.clone();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        })
        .collect();
    let worth = |index: usize, covered: &FxHashSet<(u32, u32)>| {
        let new = distinct[index].iter().filter(|pair| !covered.contains(pair)).count();
        Worth { new, rarity: rarity[index], len: transitions[index].len(), index: Reverse(index) }
    };
    let mut covered = FxHashSet::default();
    let mut waiting: BinaryHeap<Worth> = (0..sequences.len()).map(|index| worth(index, &covered)).collect();
    let mut chosen = Vec::with_capacity(k);
    while chosen.len() < k
        && let Some(top) = waiting.pop()
    {
        let Reverse(index) = top.index;
        let now = worth(index, &covered);
        // The worth was computed before other sequences were chosen. The new worth may be below that of the next entry.
        if now.new < top.new {
            waiting.push(now);
            continue;
        }
        covered.extend(&distinct[index]);
        chosen.push(index);
    }
    chosen
}

/// Worth of a sequence at one moment. The sequence with the largest worth is chosen.
struct Worth {
    new: usize,
    rarity: f64,
    len: usize,
    index: Reverse<usize>,
}

impl Ord for Worth {
    fn cmp(&self, other: &Self) -> Ordering {
        let gain = |worth: &Self| worth.new as f64 * (1.0 + worth.rarity);
        gain(self)
            .total_cmp(&gain(other))
            .then(self.new.cmp(&other.new))
            .then(self.rarity.total_cmp(&other.rarity))
            .then(self.len.cmp(&other.len))
            .then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worth {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Worth {}

/// Returns the pairs of neighbouring ops of each sequence. Ops are numbered by first appearance.
fn transitions<S: AsRef<str>>(sequences: &[Vec<S>]) -> Vec<Vec<(u32, u32)>> {
    let mut ids: FxHashMap<&str, u32> = FxHashMap::default();
    let numbered = sequences.iter().map(|sequence| {
        let ops = sequence.iter().map(|op| {
            let fresh = ids.len() as u32;
            *ids.entry(op.as_ref()).or_insert(fresh)
        });
        let ops: Vec<u32> = ops.collect();
        ops.windows(2).map(|pair| (pair[0], pair[1])).collect()
    });
    numbered.collect()
}

fn rarity<S: AsRef<str>>(sequences: &[Vec<S>], transitions: &[Vec<(u32, u32)>]) -> Vec<f64> {
    let ops: FxHashSet<&str> = sequences.iter().flatten().map(AsRef::as_ref).collect();
    let mut pairs: FxHashMap<(u32, u32), f64> = FxHashMap::default();
    let mut rows: FxHashMap<u32, f64> = FxHashMap::default();
    for &(from, to) in transitions.iter().flatten() {
        *pairs.entry((from, to)).or_default() += 1.0;
        *rows.entry(from).or_default() += 1.0;
    }
    let surprise = |&(from, to): &(u32, u32)| {
        // The published formula smooths over the whole vocabulary, which increases the rarity of transitions from rare ops.
        let probability = (pairs[&(from, to)] + SMOOTHING) / (rows[&from] + SMOOTHING * ops.len() as f64);
        -probability.ln()
    };
    let mean = |pairs: &Vec<(u32, u32)>| match pairs.len() {
        0 => 0.0,
        count => pairs.iter().map(surprise).sum::<f64>() / count as f64,
    };
    let raw: Vec<f64> = transitions.iter().map(mean).collect();
    let low = raw.iter().copied().fold(f64::INFINITY, f64::min);
    let high = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    raw.into_iter().map(|value| if high > low { (value - low) / (high - low) } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(sequences: &[&str], k: usize) -> Vec<usize> {
        let sequences: Vec<Vec<&str>> = sequences.iter().map(|text| text.split_whitespace().collect()).collect();
        select_subset(&sequences, k)
    }

    #[test]
    fn new_transitions_first_then_rarity() {
        // The second brings most transitions; then nothing is new, and a -> b is rarer than b -> c.
        assert_eq!(select(&["a b c", "a b c d", "b c", "x"], 2), [1, 0]);
    }

    #[test]
    fn limits() {
        assert!(select(&["a b", "b a"], 0).is_empty());
        assert_eq!(select(&["a b", "b a"], 5), [0, 1]);
        assert_eq!(select(&["a", "a", "a"], 2), [0, 1]);
        assert!(select(&[], 3).is_empty());
    }
}
