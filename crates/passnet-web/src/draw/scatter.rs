//! Scores against correctness: one point per run, with the interval of its score.

use maud::{Markup, html};
use passnet_score::Interval;

use super::{
    COLOURS, at,
    names::{Name, places},
};
use crate::format::{percent, score};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const AXIS: f64 = 40.0;
/// Room between the outermost points and the frame, so that no marker is cut off.
const INSET: f64 = 14.0;
/// Width of a letter of a name, about, and the distance of a name from its point.
const LETTER: f64 = 6.2;
const GAP: f64 = 9.0;
/// Difference of height from which a line leads from a point to its name.
const MOVED: f64 = 4.0;

/// A run as a point.
pub(crate) struct Point<'a> {
    pub(crate) name: &'a str,
    /// Position among the runs of its suite; decides its colour.
    pub(crate) series: usize,
    /// Share of correct graphs, 0 to 1.
    pub(crate) correct: f64,
    pub(crate) score: f64,
    pub(crate) bounds: Interval,
}

/// Ranges of the two axes. The score axis is logarithmic and contains 1.
struct ScatterFrame {
    left: f64,
    low: f64,
    high: f64,
}

impl ScatterFrame {
    fn of(points: &[Point<'_>]) -> Self {
        let scores = || points.iter().flat_map(|point| [point.bounds.low, point.bounds.high, point.score]);
        let worst = points.iter().map(|point| point.correct).fold(1.0, f64::min);
        Self {
            // At least a tenth is shown: full width for a difference of one graph would mislead.
            left: ((worst * 10.0).floor() / 10.0).clamp(0.0, 0.9),
            low: scores().fold(1.0, f64::min).max(1e-3) / 1.1,
            high: scores().fold(1.0, f64::max) * 1.1,
        }
    }

    fn x(&self, correct: f64) -> f64 {
        LEFT + INSET + (correct - self.left) / (1.0 - self.left) * (WIDTH - LEFT - RIGHT - 2.0 * INSET)
    }

    fn y(&self, score: f64) -> f64 {
        TOP + HEIGHT * (1.0 - (score.max(1e-3) / self.low).ln() / (self.high / self.low).ln())
    }

    /// Marks of the score axis: 1, 2 and 5 times powers of ten, and steps between where the range is short.
    fn marks(&self) -> Vec<f64> {
        let coarse = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
        let medium = [0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0];
        let fine = [0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5];
        let within = |marks: &[f64]| -> Vec<f64> {
            marks.iter().copied().filter(|mark| (self.low..=self.high).contains(mark)).collect()
        };
        // The coarsest steps with marks on most of the axis.
        let choices = [within(&coarse), within(&medium), within(&fine)];
        let reaches =
            |marks: &Vec<f64>| marks.len() >= 3 && marks.last().is_some_and(|&last| self.y(last) < TOP + 0.35 * HEIGHT);
        let first = choices.iter().position(reaches);
        let most = || (0..choices.len()).max_by_key(|&at| choices[at].len()).unwrap_or_default();
        choices[first.unwrap_or_else(most)].clone()
    }
}

/// Draws the points; nothing for fewer than two, which the table shows as well.
pub(crate) fn scatter(points: &[Point<'_>], label: &str) -> Markup {
    if points.len() < 2 {
        return html! {};
    }
    let frame = ScatterFrame::of(points);
    let names = name_heights(&frame, points);
    let bottom = TOP + HEIGHT;
    html! {
        svg.plot.scatter viewBox=(format!("0 0 {WIDTH} {}", bottom + AXIS)) role="img" aria-label=(label) {
            @for mark in frame.marks() {
                line.(if mark == 1.0 { "unity" } else { "gridline" }) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(frame.y(mark))) y2=(at(frame.y(mark))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(frame.y(mark) + 4.0)) { (mark) }
            }
            @for step in 0..=4 {
                @let share = frame.left + (1.0 - frame.left) * f64::from(step) / 4.0;
                text.tick.x x=(at(frame.x(share))) y=(bottom + 16.0) { (percent(100.0 * share)) }
            }
            text.axis x=(at((LEFT + WIDTH) / 2.0)) y=(bottom + 34.0) { "correct graphs" }
            text.axis transform=(format!("translate(12 {}) rotate(-90)", at(TOP + HEIGHT / 2.0))) { "sound score" }
            @for (point, &name) in points.iter().zip(&names) { (draw_point(&frame, point, name)) }
        }
    }
}

/// A name that would not fit within the right edge is written to the left of its point.
fn is_right(x: f64, name: &str) -> bool {
    x + width(name) > WIDTH - RIGHT
}

/// Width of a name and of its distance from the point.
fn width(name: &str) -> f64 {
    GAP + LETTER * name.chars().count() as f64
}

/// Returns the heights of the names of points, where they are shown.
fn name_heights(frame: &ScatterFrame, points: &[Point<'_>]) -> Vec<Option<f64>> {
    let name = |point: &Point<'_>| {
        let (x, y) = (frame.x(point.correct), frame.y(point.score));
        let width = width(point.name);
        Name { x: if is_right(x, point.name) { (x - width, x) } else { (x, x + width) }, y }
    };
    places(&points.iter().map(name).collect::<Vec<_>>(), (TOP, TOP + HEIGHT))
}

fn draw_point(frame: &ScatterFrame, point: &Point<'_>, name_y: Option<f64>) -> Markup {
    let (x, y) = (frame.x(point.correct), frame.y(point.score));
    let is_right = is_right(x, point.name);
    let name_x = if is_right { x - GAP } else { x + GAP };
    html! {
        g.(format!("c{}", point.series % COLOURS)) {
            title { (point.name) ": " (score(point.score)) ", " (percent(100.0 * point.correct)) " correct" }
            line.whisker x1=(at(x)) x2=(at(x)) y1=(at(frame.y(point.bounds.low))) y2=(at(frame.y(point.bounds.high))) {}
            circle cx=(at(x)) cy=(at(y)) r="4.5" {}
            @if let Some(name_y) = name_y {
                @if (name_y - y).abs() > MOVED {
                    line.leader x1=(at(x)) x2=(at(name_x)) y1=(at(y)) y2=(at(name_y)) {}
                }
                text.name.(if is_right { "end" } else { "start" }) x=(at(name_x)) y=(at(name_y + 4.0)) { (point.name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(correct: f64, score: f64) -> Point<'static> {
        Point { name: "a", series: 0, correct, score, bounds: Interval { low: score * 0.9, high: score * 1.1 } }
    }

    #[test]
    fn every_point_lies_inside_the_frame() {
        let points = [point(0.0, 0.0), point(1.0, 300.0), point(0.55, 1.0)];
        let frame = ScatterFrame::of(&points);
        for point in &points {
            assert!((LEFT..=WIDTH - RIGHT).contains(&frame.x(point.correct)));
            assert!((TOP..=TOP + HEIGHT).contains(&frame.y(point.score)), "{}", frame.y(point.score));
        }
    }

    #[test]
    fn one_point_is_no_figure() {
        assert_eq!(scatter(&[point(1.0, 1.2)], "board").into_string(), "");
    }
}
