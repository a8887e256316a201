//! Scores of one author's runs in order of time, with their intervals.

use maud::{Markup, html};
use passnet_score::Interval;

use super::at;
use crate::format::score;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const AXIS: f64 = 26.0;
/// Height of a line of text.
const TEXT: f64 = 14.0;
/// Distances of marks on the axis, from small to large.
const STEPS: [f64; 10] = [0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0];
/// Width of a date.
const DATE: f64 = 84.0;
/// Room between the outermost points and the frame.
const INSET: f64 = 30.0;

/// The score of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    pub(crate) day: &'a str,
    pub(crate) score: f64,
    pub(crate) bounds: Interval,
    /// The run has a rank, so that its score can be compared with those of the other ones.
    pub(crate) is_ranked: bool,
}

/// Draws a run as a point with its date; nothing for fewer than two runs. The line joins runs with a rank; the points of others are hollow.
pub(crate) fn history(points: &[Moment<'_>], label: &str) -> Markup {
    if points.len() < 2 {
        return html! {};
    }
    // 1 is always on the axis, so that drawings of different authors can be compared.
    let low = points.iter().map(|point| point.bounds.low).fold(1.0, f64::min) * 0.97;
    let high = points.iter().map(|point| point.bounds.high).fold(1.0, f64::max) * 1.03;
    let step = (WIDTH - LEFT - RIGHT - 2.0 * INSET) / (points.len() - 1) as f64;
    let x = |index: usize| LEFT + INSET + step * index as f64;
    let y = |value: f64| TOP + HEIGHT * (high - value) / (high - low);
    let ranked = || points.iter().enumerate().filter(|(_, point)| point.is_ranked);
    let corner = |(place, (index, point)): (usize, (usize, &Moment<'_>))| {
        format!("{}{} {}", if place == 0 { "M" } else { "L" }, at(x(index)), at(y(point.score)))
    };
    let path: String = ranked().enumerate().map(corner).collect();
    let dates = dates(points, step);
    html! {
        svg.plot.scatter viewBox=(format!("0 0 {WIDTH} {}", TOP + HEIGHT + AXIS)) role="img" aria-label=(label) {
            @for mark in marks(low, high) {
                line.(if mark == 1.0 { "unity" } else { "gridline" }) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(mark))) y2=(at(y(mark))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(y(mark) + 4.0)) { (mark) }
            }
            g.c0 {
                @if ranked().count() > 1 { path.line d=(path) fill="none" {} }
                @for (index, point) in points.iter().enumerate() {
                    line.whisker x1=(at(x(index))) x2=(at(x(index))) y1=(at(y(point.bounds.low))) y2=(at(y(point.bounds.high))) {}
                    circle.hollow[!point.is_ranked] cx=(at(x(index))) cy=(at(y(point.score))) r="4.5" { title { (point.day) ": " (score(point.score)) } }
                }
            }
            text.axis transform=(format!("translate(12 {}) rotate(-90)", at(TOP + HEIGHT / 2.0))) { "sound score" }
            @for index in dates { text.tick.x x=(at(x(index))) y=(TOP + HEIGHT + 18.0) { (points[index].day) } }
        }
    }
}

/// Returns the points whose dates are written: the first of each day, where the date before leaves room.
fn dates(points: &[Moment<'_>], step: f64) -> Vec<usize> {
    let mut dates: Vec<usize> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let is_new = |&last: &usize| points[last].day != point.day && (index - last) as f64 * step >= DATE;
        if dates.last().is_none_or(is_new) {
            dates.push(index);
        }
    }
    dates
}

/// Returns round numbers between two bounds, 1 among them: multiples of the smallest step that leaves room for a line of text each.
fn marks(low: f64, high: f64) -> Vec<f64> {
    let is_wide = |step: &f64| (high - low) / step * 2.0 * TEXT <= HEIGHT;
    let Some(step) = STEPS.into_iter().find(is_wide) else { return vec![1.0] };
    let multiples = (low / step).ceil() as i64..=(high / step).floor() as i64;
    let mut marks: Vec<f64> = multiples.map(|multiple| (multiple as f64 * step * 100.0).round() / 100.0).collect();
    if !marks.contains(&1.0) {
        marks.retain(|mark| (mark - 1.0).abs() >= step / 2.0);
        marks.push(1.0);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(day: &str, is_ranked: bool) -> Moment<'_> {
        Moment { day, score: 1.2, bounds: Interval { low: 1.1, high: 1.3 }, is_ranked }
    }

    #[test]
    fn runs_without_a_rank_are_hollow_and_not_joined() {
        let drawn =
            |ranked: [bool; 3]| history(&ranked.map(|is_ranked| moment("2026-11-22", is_ranked)), "x").into_string();
        assert!(!drawn([true; 3]).contains("hollow"));
        let one = drawn([false, true, true]);
        assert_eq!((one.matches("hollow").count(), one.matches('L').count()), (1, 1), "{one}");
        assert!(!drawn([false, true, false]).contains("path"));
    }

    #[test]
    fn each_day_has_its_date_where_there_is_room() {
        let days = ["22", "23", "23", "24"].map(|day| moment(day, true));
        assert_eq!(dates(&days, 100.0), [0, 1, 3]);
        assert_eq!(dates(&days, 60.0), [0, 2]);
    }

    #[test]
    fn marks_are_round_and_far_enough_from_each_other() {
        for (low, high, expected) in [
            (0.97, 2.18, vec![1.0, 1.25, 1.5, 1.75, 2.0]),
            (0.5, 1.03, vec![0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
            (0.97, 1.03, vec![0.98, 1.0, 1.02]),
            (0.1, 9.3, vec![2.0, 4.0, 6.0, 8.0, 1.0]),
            (0.9, 5000.0, vec![1.0]),
        ] {
            assert_eq!(marks(low, high), expected, "{low} to {high}");
        }
    }
}
