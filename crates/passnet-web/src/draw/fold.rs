//! Repeated blocks of a long graph, which a drawing shows once.
//!
//! Models repeat blocks: the layers of a transformer are the same calls with other weights. In program order, such blocks are
//! equal sequences of ops that follow each other directly.

use std::ops::Range;

/// A graph with fewer calls is drawn without folding.
const SHORT: usize = 80;
/// Least number of calls of a block that is folded.
const MIN_BLOCK: usize = 4;
/// Largest number of calls of a block that is searched for. The time of the search is proportional to it.
const MAX_BLOCK: usize = 500;
/// Least number of calls that a fold hides.
const MIN_SAVED: usize = 12;

/// A sequence of equal blocks. The first is drawn; the others become one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    /// Positions of the calls of all repetitions except the first.
    pub(crate) hidden: Range<usize>,
    /// Calls of one block.
    pub(crate) block: usize,
}

impl Fold {
    /// Number of blocks that are not drawn.
    pub(crate) fn repetitions(&self) -> usize {
        self.hidden.len() / self.block
    }
}

/// Returns the folds of a sequence of ops, in order; they do not overlap. The greedy choice is the fold at the earliest position that
/// hides most calls.
pub(crate) fn folds<T: PartialEq>(ops: &[T]) -> Vec<Fold> {
    let mut folds = Vec::new();
    if ops.len() < SHORT {
        return folds;
    }
    // `run[period]` is the number of calls from here on that equal the call one period later. It is computed from the end.
    // A block that is longer than half of the graph cannot repeat.
    let periods = (ops.len() / 2 + 1).min(MAX_BLOCK);
    let mut best: Vec<Option<(usize, usize)>> = vec![None; ops.len()];
    let mut run = vec![0_usize; periods];
    for at in (0..ops.len()).rev() {
        for (period, run) in run.iter_mut().enumerate().skip(MIN_BLOCK) {
            *run = match ops.get(at + period) {
                Some(later) if *later == ops[at] => *run + 1,
                _ => 0,
            };
            // Whole repetitions only.
            let hidden = *run / period * period;
            let better = best[at].is_none_or(|(most, _)| hidden > most);
            if hidden >= MIN_SAVED.max(period) && better {
                best[at] = Some((hidden, period));
            }
        }
    }
    let mut at = 0;
    while at < ops.len() {
        match best[at] {
            // A later start within the block may hide more: the first layer of a model often begins differently.
            Some((hidden, block)) if !(1..block).any(|later| more(&best, at + later, hidden)) => {
                folds.push(Fold { hidden: at + block..at + block + hidden, block });
                at += block + hidden;
            }
            _ => at += 1,
        }
    }
    folds
}

fn more(best: &[Option<(usize, usize)>], at: usize, hidden: usize) -> bool {
    best.get(at).copied().flatten().is_some_and(|(most, _)| most > hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_layers_are_folded() {
        let layer = "abcdefghij";
        let ops: Vec<char> = format!("xy{}z", layer.repeat(12)).chars().collect();
        assert_eq!(folds(&ops), [Fold { hidden: 12..122, block: 10 }]);
        assert_eq!(folds(&ops)[0].repetitions(), 11);
    }

    #[test]
    fn short_graphs_and_graphs_without_repetition_stay() {
        assert_eq!(folds(&"abcdabcdabcdabcd".chars().collect::<Vec<_>>()), []);
        assert_eq!(folds(&(0..500).collect::<Vec<_>>()), []);
    }

    #[test]
    fn two_kinds_of_layers_are_two_folds() {
        let ops: Vec<char> = format!("{}-{}", "abcde".repeat(8), "vwxyz.".repeat(9)).chars().collect();
        let folds = folds(&ops);
        assert_eq!(folds, [Fold { hidden: 5..40, block: 5 }, Fold { hidden: 47..95, block: 6 }]);
    }
}
