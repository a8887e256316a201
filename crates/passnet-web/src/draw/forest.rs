//! Scores of several authors on one family: a line per author on an axis that all families share.

use maud::{Markup, html};
use passnet_score::{Interval, PartScore};

use super::{COLOURS, at};
use crate::format::{interval, score};

/// Height of an author's line.
const LINE: f64 = 7.0;
/// Marks of the axis: as many as fit are shown.
const MARKS: [&[f64]; 3] = [
    &[0.01, 0.1, 1.0, 10.0, 100.0],
    &[0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
    &[0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8],
];

/// Logarithmic axis with 1 on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForestAxis {
    low: f64,
    high: f64,
}

impl ForestAxis {
    /// Fits the scores. Intervals may end outside: one wide interval would press all others together.
    pub(crate) fn of(scores: impl Iterator<Item = f64>) -> Self {
        let fit = |axis: Self, score: f64| Self { low: axis.low.min(score), high: axis.high.max(score) };
        let Self { low, high } = scores.fold(Self { low: 1.0, high: 1.0 }, fit);
        Self { low: low.max(1e-2) / 1.25, high: high * 1.25 }
    }

    /// Returns the place of a score, 0 to 100.
    fn x(self, score: f64) -> f64 {
        (100.0 * (score.max(1e-3) / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 100.0)
    }

    fn marks(self) -> Vec<f64> {
        let within = |marks: &&[f64]| -> Vec<f64> {
            marks.iter().copied().filter(|&mark| (4.0..=96.0).contains(&self.x(mark))).collect()
        };
        let choices: Vec<Vec<f64>> = MARKS.iter().map(within).collect();
        let best = choices.iter().position(|marks| (3..=6).contains(&marks.len()));
        choices.into_iter().nth(best.unwrap_or(1)).unwrap_or_default()
    }
}

/// Returns the marks of the axis, for the head of a column of [`forest`].
pub(crate) fn forest_axis(axis: ForestAxis) -> Markup {
    html! {
        div.axis aria-hidden="true" {
            @for mark in axis.marks() { span style=(format!("left:{}%", at(axis.x(mark)))) { (mark) } }
        }
    }
}

/// Draws the scores of authors with their intervals, in order, which also decides colours.
pub(crate) fn forest(axis: ForestAxis, authors: &[(&str, &PartScore)]) -> Markup {
    let height = LINE * authors.len() as f64;
    let texts: Vec<String> = authors.iter().map(|(name, part)| described(name, part)).collect();
    html! {
        // The image is one element for screen readers: with one per author, a row would take minutes to read aloud.
        svg.forest viewBox=(format!("0 0 100 {height}")) preserveAspectRatio="none" height=(1.5 * height) role="img" {
            title { (texts.join("; ")) }
            line.unity x1=(at(axis.x(1.0))) x2=(at(axis.x(1.0))) y1="0" y2=(height) {}
            @for (row, (_, part)) in authors.iter().enumerate() {
                @if let Some(value) = part.score() {
                    @let Interval { low, high } = part.interval().unwrap_or(Interval { low: value, high: value });
                    @let (top, left) = (LINE * row as f64, axis.x(low));
                    g.(format!("c{}", row % COLOURS)) {
                        rect.interval x=(at(left)) y=(at(top + 2.6)) width=(at((axis.x(high) - left).max(0.1))) height="1.8" {}
                        rect x=(at(axis.x(value) - 0.7)) y=(at(top + 0.8)) width="1.4" height="5.4" {}
                    }
                }
            }
        }
    }
}

fn described(name: &str, part: &PartScore) -> String {
    let Some(value) = part.score() else { return format!("{name} –") };
    let bounds = part.interval().map(|bounds| format!(" {}", interval(bounds))).unwrap_or_default();
    format!("{name} {}{bounds}", score(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_marks_and_keeps_scores_inside() {
        for scores in [vec![1.0], vec![0.05, 30.0], vec![0.9, 1.1], vec![0.4, 2.5], vec![0.0, 1.0]] {
            let axis = ForestAxis::of(scores.iter().copied());
            assert!(axis.marks().contains(&1.0), "{scores:?}: {:?}", axis.marks());
            assert!(axis.marks().len() >= 2, "{scores:?}: {:?}", axis.marks());
            assert!(scores.iter().all(|&score| (0.0..=100.0).contains(&axis.x(score))));
        }
    }
}
