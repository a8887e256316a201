//! Ranges of memory, and which of them meet.

/// Memory from one address up to another.
pub type MemoryRange = (usize, usize);

/// Ranges that do not meet each other, in order.
#[derive(Clone, Debug)]
pub struct SeparateRanges(Vec<MemoryRange>);

impl SeparateRanges {
    /// Returns `None` if some of the ranges meet. Empty ranges meet nothing.
    #[must_use]
    pub fn of(mut ranges: Vec<MemoryRange>) -> Option<Self> {
        ranges.retain(|(start, end)| start < end);
        ranges.sort_unstable();
        let is_separate = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        is_separate.then_some(Self(ranges))
    }

    /// Returns whether a range meets one of these.
    #[must_use]
    pub fn meets(&self, (start, end): MemoryRange) -> bool {
        let first = self.0.partition_point(|&(_, last)| last <= start);
        start < end && self.0.get(first).is_some_and(|&(begin, _)| begin < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_where_they_share_an_address() {
        let cases: [(&[MemoryRange], &[MemoryRange], bool); 9] = [
            (&[], &[(0, 9)], false),
            (&[(8, 16)], &[], false),
            (&[(8, 16)], &[(16, 24), (0, 8), (9, 9)], false),
            (&[(8, 16)], &[(8, 16)], true),
            (&[], &[(8, 16), (8, 16)], false),
            (&[(12, 16)], &[(8, 32)], true),
            (&[(40, 50), (8, 32)], &[(33, 34), (9, 10)], true),
            (&[(8, 16), (12, 24)], &[], true),
            (&[(20, 24), (8, 8), (0, 4)], &[(4, 20)], false),
        ];
        for (some, others, expected) in cases {
            let found = SeparateRanges::of(some.to_vec())
                .is_none_or(|separate| others.iter().any(|&other| separate.meets(other)));
            assert_eq!(found, expected, "{some:?} {others:?}");
        }
    }
}
