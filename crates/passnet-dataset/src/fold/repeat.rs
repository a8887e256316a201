//! Search for the best repeated substring of a weighted text.

/// Token between two sequences in a text. It is never part of a substring.
pub(super) const SEPARATOR: u32 = u32::MAX;

/// Distinct sequences joined by [`SEPARATOR`]. `weights[p]` is the number of copies of the sequence at position `p`, so that
/// equal graphs cost no extra time.
pub(super) struct Text {
    pub(super) tokens: Vec<u32>,
    pub(super) weights: Vec<u32>,
}

/// All substrings of one length that have the best score.
pub(super) struct Winners {
    pub(super) len: usize,
    /// For each winning substring, its start positions in ascending order. Overlapping occurrences are included.
    pub(super) starts: Vec<Vec<u32>>,
}

/// A maximal slice of `order` whose positions share the tokens read so far.
struct TokenGroup {
    begin: usize,
    end: usize,
    /// Number of occurrences. Each copy of a sequence counts.
    count: u64,
}

/// Finds the substrings of 2..=`longest` tokens with the highest `score(length, count)`, of the smallest length that
/// reaches it. `None` if no score exceeds zero.
///
/// Positions are refined level by level: a group of positions with `l` equal tokens is split by the next token. A group whose
/// count cannot beat the best score even at full length is dropped, so that only frequent substrings become long. `score` must
/// not decrease with either argument. Time is O(remaining positions) per level, memory O(text).
pub(super) fn best_repeats(
    text: &Text,
    vocabulary: usize,
    longest: usize,
    score: impl Fn(usize, u64) -> u64,
) -> Option<Winners> {
    let mut order: Vec<u32> =
        (0..text.tokens.len()).filter(|&p| text.tokens[p] != SEPARATOR).map(|p| p as u32).collect();
    let mut groups = vec![TokenGroup { begin: 0, end: order.len(), count: 0 }];
    let mut refiner = Refiner::new(vocabulary);
    let mut best = 0;
    let mut winners = None;
    for len in 1..=longest {
        (order, groups) = refiner.split(text, &order, &groups, len - 1);
        let top = groups.iter().map(|group| score(len, group.count)).max()?;
        // Strictly greater, so that the shortest length of several with equal scores wins, as in the reference.
        if len > 1 && top > best {
            best = top;
            let starts = groups.iter().filter(|group| score(len, group.count) == top);
            let starts = starts.map(|group| order[group.begin..group.end].to_vec()).collect();
            winners = Some(Winners { len, starts });
        }
        // A longer substring occurs at most as often as its prefix, so the score at full length is an upper bound.
        groups.retain(|group| score(longest, group.count) > best);
        if groups.is_empty() {
            break;
        }
    }
    winners
}

/// Splits groups by one more token. The counters are reused for all groups.
struct Refiner {
    /// For each token, the number of positions of the current group that continue with it; later, the place of the next such
    /// position.
    slots: Vec<u32>,
    /// For each token, the same number with copies counted.
    counts: Vec<u64>,
    /// Tokens that occur in the current group.
    touched: Vec<u32>,
}

impl Refiner {
    fn new(vocabulary: usize) -> Self {
        Self { slots: vec![0; vocabulary], counts: vec![0; vocabulary], touched: Vec::new() }
    }

    fn split(
        &mut self,
        text: &Text,
        order: &[u32],
        groups: &[TokenGroup],
        offset: usize,
    ) -> (Vec<u32>, Vec<TokenGroup>) {
        let survivors = groups.iter().map(|group| group.end - group.begin).sum();
        let mut next_order = Vec::with_capacity(survivors);
        let mut next_groups = Vec::new();
        let token_at = |p: u32| text.tokens.get(p as usize + offset).copied().filter(|&token| token != SEPARATOR);
        for group in groups {
            let positions = &order[group.begin..group.end];
            for &p in positions {
                let Some(token) = token_at(p) else { continue };
                let slot = &mut self.slots[token as usize];
                if *slot == 0 {
                    self.touched.push(token);
                }
                *slot += 1;
                self.counts[token as usize] += u64::from(text.weights[p as usize]);
            }
            // A stable counting sort by the next token: positions within a group stay ascending.
            let mut begin = next_order.len();
            for &token in &self.touched {
                let end = begin + self.slots[token as usize] as usize;
                next_groups.push(TokenGroup { begin, end, count: self.counts[token as usize] });
                self.slots[token as usize] = begin as u32;
                begin = end;
            }
            next_order.resize(begin, 0);
            for &p in positions {
                let Some(token) = token_at(p) else { continue };
                let slot = &mut self.slots[token as usize];
                next_order[*slot as usize] = p;
                *slot += 1;
            }
            for token in self.touched.drain(..) {
                self.slots[token as usize] = 0;
                self.counts[token as usize] = 0;
            }
        }
        (next_order, next_groups)
    }
}
