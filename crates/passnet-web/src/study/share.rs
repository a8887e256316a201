//! Shares of graphs with how sure they are.

/// Quantile of the normal distribution for 95 %.
const Z: f64 = 1.96;

/// A share of graphs, in percent, with the interval that a random sample of that size gives (Wilson's score interval, 95 %).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share itself.
    pub percent: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Share {
    /// `count` of `all`, which is not 0.
    pub(super) fn of(count: usize, all: usize) -> Self {
        let (share, all) = (count as f64 / all as f64, all as f64);
        // Wilson's interval and not the normal one, which has no width for a share of 0 or 1.
        let scale = 1.0 + Z * Z / all;
        let middle = (share + Z * Z / (2.0 * all)) / scale;
        let half = Z / scale * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
        Self { percent: 100.0 * share, low: 100.0 * (middle - half).max(0.0), high: 100.0 * (middle + half).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I (method 3).
    #[test]
    fn intervals_are_those_of_the_literature() {
        for (count, all, low, high) in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)] {
            let share = Share::of(count, all);
            assert!((share.low - 100.0 * low).abs() < 0.006, "{share:?}");
            assert!((share.high - 100.0 * high).abs() < 0.006, "{share:?}");
        }
    }
}
