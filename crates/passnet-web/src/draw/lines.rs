//! Lines over a common axis, with reference lines.

use maud::{Markup, html};
use passnet_score::Interval;

use super::{COLOURS, at};

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const AXIS: f64 = 40.0;
/// Room between the outermost points and the frame.
const INSET: f64 = 10.0;
/// Points of a line that are drawn: more than one per pixel shows nothing.
const MAX_POINTS: usize = 600;
/// Points of a line that are marked; marks of a denser line would hide it.
const MAX_MARKED: usize = 40;

/// A measured value at a place of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LineMark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) bounds: Option<Interval>,
}

/// A line through marks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) marks: Vec<LineMark>,
}

/// A drawing: lines, and values that they are compared with.
#[derive(Clone, Debug)]
pub(crate) struct Chart<'a> {
    /// Title for screen readers.
    pub(crate) label: &'a str,
    /// Title of the horizontal axis.
    pub(crate) across: &'a str,
    pub(crate) lines: Vec<Line>,
    /// Name and value.
    pub(crate) references: Vec<(String, f64)>,
    /// Text of a value.
    pub(crate) show: fn(f64) -> String,
}

struct LineFrame {
    first: f64,
    last: f64,
    high: f64,
}

impl LineFrame {
    /// `None` without a mark whose numbers are finite.
    fn of(chart: &Chart<'_>) -> Option<Self> {
        let marks = || chart.lines.iter().flat_map(|line| &line.marks).filter(|mark| mark.y.is_finite());
        let values = marks().map(|mark| mark.bounds.map_or(mark.y, |bounds| bounds.high));
        let values = values.chain(chart.references.iter().map(|(_, value)| *value));
        let high = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Some(Self {
            first: marks().map(|mark| mark.x).reduce(f64::min)?,
            last: marks().map(|mark| mark.x).reduce(f64::max)?,
            high: if high > 0.0 { high * 1.08 } else { 1.0 },
        })
    }

    fn x(&self, x: f64) -> f64 {
        // A single mark stands in the middle.
        let share = if self.last > self.first { (x - self.first) / (self.last - self.first) } else { 0.5 };
        LEFT + INSET + share * (WIDTH - LEFT - RIGHT - 2.0 * INSET)
    }

    fn y(&self, y: f64) -> f64 {
        TOP + HEIGHT * (1.0 - (y / self.high).clamp(0.0, 1.0))
    }
}

/// Draws a chart with its legend; nothing without a mark.
pub(crate) fn lines(chart: &Chart<'_>) -> Markup {
    let Some(frame) = LineFrame::of(chart) else { return html! {} };
    let bottom = TOP + HEIGHT;
    html! {
        svg.plot.scatter viewBox=(format!("0 0 {WIDTH} {}", bottom + AXIS)) role="img" aria-label=(chart.label) {
            @for tick in ticks(frame.high) {
                line.gridline x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(frame.y(tick))) y2=(at(frame.y(tick))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(frame.y(tick) + 4.0)) { (short((chart.show)(tick))) }
            }
            text.tick.x x=(at(frame.x(frame.first))) y=(bottom + 16.0) { (frame.first) }
            @if frame.last > frame.first { text.tick.x x=(at(frame.x(frame.last) - 8.0)) y=(bottom + 16.0) { (frame.last) } }
            text.axis x=(at((LEFT + WIDTH) / 2.0)) y=(bottom + 34.0) { (chart.across) }
            @for (index, (name, value)) in chart.references.iter().enumerate() {
                g.(colour(chart.lines.len() + index)) {
                    line.reference x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(frame.y(*value))) y2=(at(frame.y(*value))) { title { (name) ": " ((chart.show)(*value)) } }
                }
            }
            @for (index, line) in chart.lines.iter().enumerate() { g.(colour(index)) { (draw(&frame, line, chart.show)) } }
        }
        ul.legend {
            @for (index, line) in chart.lines.iter().enumerate() { li.(colour(index)) { span { (line.name) } } }
            @for (index, (name, value)) in chart.references.iter().enumerate() {
                li.dashed.(colour(chart.lines.len() + index)) { span { (name) ": " ((chart.show)(*value)) } }
            }
        }
    }
}

/// Returns a number without the zeros at the end of its decimals: marks are round.
fn short(text: String) -> String {
    let digits = text.trim_end_matches('%');
    if !digits.contains('.') {
        return text;
    }
    format!("{}{}", digits.trim_end_matches('0').trim_end_matches('.'), &text[digits.len()..])
}

fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

fn draw(frame: &LineFrame, line: &Line, show: fn(f64) -> String) -> Markup {
    let finite: Vec<&LineMark> = line.marks.iter().filter(|mark| mark.y.is_finite()).collect();
    let step = finite.len().div_ceil(MAX_POINTS).max(1);
    let last = finite.len().saturating_sub(1);
    // The last point always stays: readers look for the final value.
    let kept = finite.iter().enumerate().filter(|(index, _)| index % step == 0 || *index == last);
    let marks: Vec<&LineMark> = kept.map(|(_, mark)| *mark).collect();
    let corner = |(index, mark): (usize, &&LineMark)| {
        format!("{}{} {}", if index == 0 { "M" } else { "L" }, at(frame.x(mark.x)), at(frame.y(mark.y)))
    };
    let path: String = marks.iter().enumerate().map(corner).collect();
    html! {
        path.line d=(path) fill="none" {}
        @if marks.len() <= MAX_MARKED {
            @for mark in &marks {
                @if let Some(bounds) = mark.bounds {
                    line.whisker x1=(at(frame.x(mark.x))) x2=(at(frame.x(mark.x))) y1=(at(frame.y(bounds.low))) y2=(at(frame.y(bounds.high))) {}
                }
                circle cx=(at(frame.x(mark.x))) cy=(at(frame.y(mark.y))) r="4" { title { (line.name) " at " (mark.x) ": " (show(mark.y)) } }
            }
        }
    }
}

/// Three to six round values from 0.
fn ticks(high: f64) -> Vec<f64> {
    let raw = high / 4.0;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|&step| step >= raw).unwrap_or(raw);
    (0..=(high / step).floor() as i32).map(|tick| f64::from(tick) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::score;

    fn chart(values: &[f64], references: &[f64]) -> String {
        let marks = values.iter().enumerate().map(|(x, &y)| LineMark { x: x as f64, y, bounds: None }).collect();
        let lines = vec![Line { name: "a".to_owned(), marks }];
        let references = references.iter().map(|&value| ("b".to_owned(), value)).collect();
        super::lines(&Chart { label: "chart", across: "step", lines, references, show: score }).into_string()
    }

    #[test]
    fn any_values_are_drawn_with_finite_coordinates() {
        assert_eq!(chart(&[], &[1.0]), "");
        assert_eq!(chart(&[f64::NAN], &[]), "");
        let many: Vec<f64> = (0..5000).map(f64::from).collect();
        for values in [&[1.0][..], &[0.0, 0.0], &[1e-9, 2e-9], &[5.0, f64::INFINITY, 1.0], &many] {
            let drawn = chart(values, &[0.5]);
            assert!(drawn.contains("<svg") && !drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
            assert!(drawn.len() < 30_000, "{}", drawn.len());
        }
    }

    #[test]
    fn marks_have_no_needless_zeros() {
        let texts = ["6.000", "0.050", "15.0%", "0.000", "100", "12.5%"];
        assert_eq!(texts.map(|text| short(text.to_owned())), ["6", "0.05", "15%", "0", "100", "12.5%"]);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(1.08), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(100.0), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(6.2), [0.0, 2.0, 4.0, 6.0]);
    }
}
