//! The published recursive folding, with exactly the same results at a fraction of its cost.
//!
//! The reference hashes every window of every length with random floats and sorts the hashes. Here, substrings are compared as
//! integers ([`super::repeat`]). The floats are computed only for candidates that tie, because they decide which of them is
//! folded. The tables and the order are those of the reference (MT19937 with seed 2024, weights `a[i][L-1]` and embeddings
//! `e[token]`, sums compared as signed 64-bit patterns).

use rustc_hash::FxHashMap;

use super::{
    OpRange, SizeBounds,
    mt19937::uniforms,
    repeat::{SEPARATOR, Text, Winners, best_repeats},
    tree::Symbols,
};

/// Seed of the tables that order ties.
const TIE_SEED: u32 = 2024;

/// Order of preference between repeated substrings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoldPolicy {
    /// The largest (length - 1) * (occurrences - 1), overlapping occurrences included.
    #[default]
    Savings,
    /// The longest substring that occurs more than once.
    Longest,
}

impl FoldPolicy {
    fn score(self, len: usize, count: u64) -> u64 {
        let steps = (len - 1) as u64;
        match self {
            Self::Savings => steps * count.saturating_sub(1),
            Self::Longest if count > 1 => steps,
            Self::Longest => 0,
        }
    }
}

/// Settings of [`fold_compatible`], named as the published tool's flags.
#[derive(Clone, Copy, Debug)]
pub struct CompatibleSettings {
    /// Length of the longest substring that is folded at once (`window_size`).
    pub window: usize,
    /// Number of folds after the first one (`fold_times`); `None` folds until nothing repeats.
    pub folds: Option<usize>,
    /// Order in which substrings are folded (`fold_policy`).
    pub policy: FoldPolicy,
    /// Sizes of the ranges (`min_seq_ops`, `max_seq_ops`).
    pub bounds: SizeBounds,
}

/// Folds all graphs together and returns the ranges of each graph, in the given order.
///
/// `sequences` are the op names of each graph in program order. The result depends on the whole batch and its order, as the
/// published result does. If nothing repeats, the reference fails; this function then returns one range for each graph within
/// bounds.
pub fn fold_compatible<S: AsRef<str>>(sequences: &[Vec<S>], settings: &CompatibleSettings) -> Vec<Vec<OpRange>> {
    let mut batch = FoldBatch::new(sequences);
    // The flag of the published tool counts the folds after the first one.
    let attempts = settings.folds.map_or(usize::MAX, |folds| folds.saturating_add(1));
    for _ in 0..attempts {
        if !batch.fold(settings) {
            break;
        }
    }
    let ranges: Vec<Vec<OpRange>> = batch
        .text
        .tokens
        .split(|&token| token == SEPARATOR)
        .map(|sequence| batch.symbols.ranges(sequence, settings.bounds))
        .collect();
    batch.distinct_of.iter().map(|&distinct| ranges[distinct].clone()).collect()
}

/// All graphs of one call while they are folded. Equal graphs are stored once.
struct FoldBatch {
    text: Text,
    symbols: Symbols,
    /// For each graph, the index of its sequence among the distinct sequences of the text.
    distinct_of: Vec<usize>,
    /// Number of tokens of the reference's flattened text: all copies, and one separator between neighbours.
    flat_len: u64,
}

impl FoldBatch {
    fn new<S: AsRef<str>>(sequences: &[Vec<S>]) -> Self {
        let mut tokens_of: FxHashMap<&str, u32> = FxHashMap::default();
        let mut index_of: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut distinct: Vec<(Vec<u32>, u32)> = Vec::new();
        let mut distinct_of = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            let mut tokens = Vec::with_capacity(sequence.len());
            for name in sequence {
                let fresh = tokens_of.len() as u32;
                tokens.push(*tokens_of.entry(name.as_ref()).or_insert(fresh));
            }
            let index = *index_of.entry(tokens).or_insert_with_key(|tokens| {
                distinct.push((tokens.clone(), 0));
                distinct.len() - 1
            });
            distinct[index].1 += 1;
            distinct_of.push(index);
        }
        let mut text = Text { tokens: Vec::new(), weights: Vec::new() };
        for (index, (tokens, copies)) in distinct.iter().enumerate() {
            if index > 0 {
                text.tokens.push(SEPARATOR);
            }
            text.tokens.extend(tokens);
            text.weights.resize(text.tokens.len(), *copies);
        }
        let flat_len = sequences.iter().map(|sequence| sequence.len() as u64 + 1).sum::<u64>().saturating_sub(1);
        Self { text, symbols: Symbols::new(tokens_of.len() as u32), distinct_of, flat_len }
    }

    /// Folds the best repeated substring into a new symbol. Returns false if nothing repeats.
    fn fold(&mut self, settings: &CompatibleSettings) -> bool {
        let longest = settings.window.min(usize::try_from(self.flat_len).unwrap_or(usize::MAX));
        let vocabulary = self.symbols.vocabulary();
        let Some(winners) =
            best_repeats(&self.text, vocabulary, longest, |len, count| settings.policy.score(len, count))
        else {
            return false;
        };
        let starts = self.first_of_tied(&winners, longest);
        // If occurrences overlap so much that two do not fit, a prefix is folded instead, if it fits twice.
        let mut len = winners.len;
        let mut chosen = disjoint(starts, len);
        while len > 1 && self.copies(&chosen) < 2 {
            len -= 1;
            chosen = disjoint(starts, len);
        }
        if len < 2 {
            return false;
        }
        self.replace(&chosen, len);
        true
    }

    /// Returns, of substrings with equal score and length, the one whose sum of random floats comes first.
    fn first_of_tied<'a>(&self, winners: &'a Winners, longest: usize) -> &'a [u32] {
        let [only] = winners.starts.as_slice() else {
            // The reference numbers separators below the ops, so its ids are the ids here plus the number of graphs.
            let shift = self.distinct_of.len();
            let ids = shift + self.symbols.vocabulary();
            let table = uniforms(TIE_SEED, (2 * ids).max(longest * longest));
            let key = |starts: &Vec<u32>| {
                let start = starts[0] as usize;
                let tokens = &self.text.tokens[start..start + winners.len];
                let sum: f64 = tokens
                    .iter()
                    .enumerate()
                    .map(|(i, &token)| {
                        let id = shift + token as usize;
                        table[i * longest + winners.len - 1] * (table[2 * id] + table[2 * id + 1])
                    })
                    .sum();
                // The reference compares the bit patterns of sums as signed integers, in which negative floats are in
                // reverse order. Its choice among ties depends on that.
                sum.to_bits().cast_signed()
            };
            return winners.starts.iter().min_by_key(|starts| key(starts)).map_or(&[], Vec::as_slice);
        };
        only
    }

    /// Returns the number of occurrences at these starts. Each copy of a graph counts.
    fn copies(&self, starts: &[u32]) -> u64 {
        starts.iter().map(|&start| u64::from(self.text.weights[start as usize])).sum()
    }

    /// Cuts the text before and after each chosen occurrence and replaces every piece that equals the pattern.
    fn replace(&mut self, chosen: &[u32], len: usize) {
        let pattern = self.text.tokens[chosen[0] as usize..][..len].to_vec();
        let symbol = self.symbols.bind(pattern.clone());
        let old = std::mem::replace(&mut self.text, Text { tokens: Vec::new(), weights: Vec::new() });
        let mut copies = 0;
        let mut begin = 0;
        let cuts = chosen.iter().flat_map(|&start| [start as usize, start as usize + len]);
        for end in cuts.chain([old.tokens.len()]) {
            let piece = &old.tokens[begin..end];
            copies += u64::from(piece == pattern) * u64::from(old.weights.get(begin).copied().unwrap_or(0));
            if piece == pattern {
                self.text.tokens.push(symbol);
                self.text.weights.push(old.weights[begin]);
            } else {
                self.text.tokens.extend(piece);
                self.text.weights.extend(&old.weights[begin..end]);
            }
            begin = end;
        }
        // The reference bounds its windows by this length, and the size of its random tables depends on it.
        self.flat_len -= copies * (len as u64 - 1);
    }
}

/// Returns the first of `starts` (ascending) and each next one at least `gap` after the one before.
fn disjoint(starts: &[u32], gap: usize) -> Vec<u32> {
    let mut free_from = 0;
    let is_free = |&&start: &&u32| {
        let free = start as usize >= free_from;
        if free {
            free_from = start as usize + gap;
        }
        free
    };
    starts.iter().filter(is_free).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(window: usize, min: u32, max: u32) -> CompatibleSettings {
        let bounds = SizeBounds::new(min, max).unwrap();
        CompatibleSettings { window, folds: Some(10), policy: FoldPolicy::Savings, bounds }
    }

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn pairs(ranges: &[OpRange]) -> Vec<(u32, u32)> {
        ranges.iter().map(|&range| range.into()).collect()
    }

    #[test]
    fn loops_fold_to_their_bodies() {
        let block = "conv bn relu ";
        let x = format!("stem {} pool fc", block.repeat(4));
        let y = format!("stem2 {} fc", block.repeat(2));
        let ranges = fold_compatible(&[words(&x), words(&y)], &settings(4, 2, 6));
        assert_eq!(pairs(&ranges[0]), [(1, 4), (4, 7), (7, 10), (10, 13), (13, 15)]);
        assert_eq!(pairs(&ranges[1]), [(1, 4), (4, 7)]);
    }

    #[test]
    fn a_run_of_one_op_is_one_range() {
        let ranges = fold_compatible(&[words("a a a a a")], &settings(4, 2, 6));
        assert_eq!(pairs(&ranges[0]), [(0, 5)]);
    }

    #[test]
    fn the_longest_policy_takes_the_first_of_tied_substrings_by_hash() {
        let settings = CompatibleSettings { policy: FoldPolicy::Longest, folds: Some(0), ..settings(4, 2, 6) };
        let ranges = fold_compatible(&[words("a b c d e f g h a b c d e f g h z")], &settings);
        assert_eq!(pairs(&ranges[0]), [(0, 3), (3, 7), (7, 11), (11, 15), (15, 17)]);
    }

    #[test]
    fn nothing_repeats() {
        let ranges = fold_compatible(&[words("a b c"), words("d"), Vec::new()], &settings(4, 2, 6));
        assert_eq!(ranges.iter().map(|ranges| pairs(ranges)).collect::<Vec<_>>(), [vec![(0, 3)], vec![], vec![]]);
        assert!(fold_compatible::<&str>(&[], &settings(4, 2, 6)).is_empty());
    }
}
