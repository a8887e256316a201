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
/// Room between the outermost points and the frame.
const INSET: f64 = 30.0;

/// Draws a run as a point with its date; nothing for fewer than two runs.
pub(crate) fn history(points: &[(&str, f64, Interval)], label: &str) -> Markup {
    if points.len() < 2 {
        return html! {};
    }
    // 1 is always on the axis, so that drawings of different authors can be compared.
    let low = points.iter().map(|(_, _, bounds)| bounds.low).fold(1.0, f64::min) * 0.97;
    let high = points.iter().map(|(_, _, bounds)| bounds.high).fold(1.0, f64::max) * 1.03;
    let step = (WIDTH - LEFT - RIGHT - 2.0 * INSET) / (points.len() - 1) as f64;
    let x = |index: usize| LEFT + INSET + step * index as f64;
    let y = |value: f64| TOP + HEIGHT * (high - value) / (high - low);
    let corner = |(index, point): (usize, &(&str, f64, Interval))| {
        format!("{}{} {}", if index == 0 { "M" } else { "L" }, at(x(index)), at(y(point.1)))
    };
    let path: String = points.iter().enumerate().map(corner).collect();
    html! {
        svg.plot.scatter viewBox=(format!("0 0 {WIDTH} {}", TOP + HEIGHT + AXIS)) role="img" aria-label=(label) {
            @for mark in [low, 1.0, high].into_iter().filter(|&mark| mark == 1.0 || (y(mark) - y(1.0)).abs() > TEXT) {
                line.(if mark == 1.0 { "unity" } else { "gridline" }) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(mark))) y2=(at(y(mark))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(y(mark) + 4.0)) { (format!("{mark:.2}")) }
            }
            g.c0 {
                path.line d=(path) fill="none" {}
                @for (index, (day, value, bounds)) in points.iter().enumerate() {
                    line.whisker x1=(at(x(index))) x2=(at(x(index))) y1=(at(y(bounds.low))) y2=(at(y(bounds.high))) {}
                    circle cx=(at(x(index))) cy=(at(y(*value))) r="4.5" { title { (day) ": " (score(*value)) } }
                }
            }
            @for (index, (day, ..)) in points.iter().enumerate() {
                @if index == 0 || index + 1 == points.len() {
                    text.tick.x x=(at(x(index))) y=(TOP + HEIGHT + 18.0) { (day) }
                }
            }
        }
    }
}
