//! Small drawings inside table cells: parts of a whole, a score with its interval.

use maud::{Markup, html};
use passnet_score::Interval;

use super::at;
use crate::standings::Coverage;

/// Draws covered, correct and faster graphs as one bar, with the numbers as text.
pub(crate) fn coverage_bar(parts: Coverage) -> Markup {
    let Coverage { graphs, covered, correct, faster } = parts;
    let width = |count: usize| at(100.0 * count as f64 / graphs.max(1) as f64);
    let label = format!("{covered} of {graphs} covered, {correct} correct, {faster} faster");
    html! {
        svg.coverage viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=(label) {
            title { (label) }
            rect.all x="0" y="0" width="100" height="8" {}
            // Drawn over each other, largest first: each part contains the next.
            @for (class, count) in [("covered", covered), ("correct", correct), ("faster", faster)] {
                rect.(class) x="0" y="0" width=(width(count)) height="8" {}
            }
        }
        small { (covered) " · " (correct) " · " (faster) " of " (graphs) }
    }
}

/// Draws a part of a whole; the number stands next to it as text.
pub(crate) fn share_bar(part: usize, whole: usize) -> Markup {
    html! {
        svg.share viewBox="0 0 100 8" preserveAspectRatio="none" {
            rect.all x="0" y="0" width="100" height="8" {}
            rect.part x="0" y="0" width=(at(100.0 * part as f64 / whole.max(1) as f64)) height="8" {}
        }
    }
}

/// Logarithmic axis that the scores of a board share; it contains 1.
#[derive(Clone, Copy)]
pub(crate) struct ScoreAxis {
    low: f64,
    high: f64,
}

impl ScoreAxis {
    pub(crate) fn of(intervals: impl Iterator<Item = Interval>) -> Self {
        let fit = |axis: Self, interval: Interval| Self {
            low: axis.low.min(interval.low),
            high: axis.high.max(interval.high),
        };
        let Self { low, high } = intervals.fold(Self { low: 1.0, high: 1.0 }, fit);
        // A score of 0 has no place on a logarithmic axis, and would push all others to its right end.
        Self { low: low.max(1e-3) / 1.05, high: high * 1.05 }
    }

    /// Returns the position of a score, 0 to 100.
    fn x(self, score: f64) -> f64 {
        100.0 * (score.max(1e-3) / self.low).ln() / (self.high / self.low).ln()
    }
}

/// Draws a score with its interval; a line marks 1.
pub(crate) fn score_mark(axis: ScoreAxis, score: f64, interval: Interval) -> Markup {
    let (low, high, middle) = (axis.x(interval.low), axis.x(interval.high), axis.x(score));
    html! {
        svg.mark viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            line.unity x1=(at(axis.x(1.0))) x2=(at(axis.x(1.0))) y1="0" y2="10" {}
            rect.interval x=(at(low)) y="4" width=(at((high - low).max(0.5))) height="2" {}
            rect.point x=(at(middle - 0.8)) y="1" width="1.6" height="8" {}
        }
    }
}
