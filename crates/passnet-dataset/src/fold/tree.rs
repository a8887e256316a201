//! Conversion of a folded sequence to ranges of ops.

use super::{OpRange, SizeBounds};

/// Result of folding: symbols, each of which stands for a list of tokens. Tokens below `primitives` are ops, the others are
/// symbols (`primitives + k` is symbol `k`).
pub(super) struct Symbols {
    primitives: u32,
    bodies: Vec<Vec<u32>>,
    /// Number of ops of each symbol.
    lens: Vec<u32>,
}

impl Symbols {
    pub(super) fn new(primitives: u32) -> Self {
        Self { primitives, bodies: Vec::new(), lens: Vec::new() }
    }

    /// Returns the number of tokens known so far, ops and symbols.
    pub(super) fn vocabulary(&self) -> usize {
        self.primitives as usize + self.bodies.len()
    }

    /// Adds a symbol for a list of tokens and returns its token.
    pub(super) fn bind(&mut self, body: Vec<u32>) -> u32 {
        let token = self.vocabulary() as u32;
        self.lens.push(body.iter().map(|&token| self.len(token)).sum());
        self.bodies.push(body);
        token
    }

    fn body(&self, token: u32) -> Option<&[u32]> {
        self.bodies.get(token.checked_sub(self.primitives)? as usize).map(Vec::as_slice)
    }

    fn len(&self, token: u32) -> u32 {
        token.checked_sub(self.primitives).map_or(1, |symbol| self.lens[symbol as usize])
    }

    /// Returns the outermost lists within bounds, from left to right. A list whose size is admitted is a range. A longer list is
    /// opened: each symbol in it, and each maximal run of ops between symbols, is a list as well. Ranges of a single op are left
    /// out.
    pub(super) fn ranges(&self, sequence: &[u32], bounds: SizeBounds) -> Vec<OpRange> {
        let mut ranges = Vec::new();
        let size = sequence.iter().map(|&token| self.len(token)).sum();
        let mut lists = vec![(sequence, 0, size)];
        let push = |start: u32, size: u32, ranges: &mut Vec<OpRange>| {
            if size > 1 && bounds.admit(size) {
                ranges.push(OpRange::new(start, start + size));
            }
        };
        // A stack instead of recursion, because symbols can be nested as deep as the number of folds.
        while let Some((list, start, size)) = lists.pop() {
            if size < bounds.max() {
                push(start, size, &mut ranges);
                continue;
            }
            // A list that consists of ops only has no part that could be a range.
            if list.iter().all(|&token| token < self.primitives) {
                continue;
            }
            let (mut at, mut run) = (start, 0);
            for &token in list {
                let Some(body) = self.body(token) else {
                    run += 1;
                    continue;
                };
                push(at, run, &mut ranges);
                at += run;
                run = 0;
                lists.push((body, at, self.len(token)));
                at += self.len(token);
            }
            push(at, run, &mut ranges);
        }
        ranges.sort_unstable();
        ranges
    }
}
