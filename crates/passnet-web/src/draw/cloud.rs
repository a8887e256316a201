//! Compile time against speed-up: one mark per graph.

use maud::{Markup, html};

use super::{COLOURS, at, shape_number};
use crate::format::{counted, duration, name_end, ratio};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const AXIS: f64 = 42.0;
const LEGEND_ROW: f64 = 18.0;
const LEGEND_COLUMNS: usize = 2;
/// Letters of a name in the legend.
const LEGEND_CHARS: usize = 42;
/// Marks of all runs together, so that a page of many runs stays small; of more graphs, as many spread over all.
const MAX_MARKS: usize = 600;

/// A graph: compile time in nanoseconds, speed-up, and its name.
pub(crate) struct CloudMark<'a> {
    pub(crate) compile_ns: f64,
    pub(crate) speedup: f64,
    pub(crate) name: &'a str,
}

/// The graphs of a run.
pub(crate) struct Series<'a> {
    pub(crate) label: &'a str,
    /// Position among the runs of its suite; decides its colour.
    pub(crate) series: usize,
    pub(crate) marks: Vec<CloudMark<'a>>,
}

/// A logarithmic axis from one value to another.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Returns the axis of some values, with room at both ends.
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        Self { low: low / 1.2, high: high * 1.2 }
    }

    /// Returns the position of a value, 0 to 1.
    fn share(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Returns marks at 1, 2 and 5 times powers of ten, or at powers of ten where the axis is long.
    fn marks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.high / self.low > 300.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let marks = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        marks.filter(|mark| (self.low..=self.high).contains(mark)).collect()
    }
}

/// Draws the graphs of runs; nothing for fewer than three graphs.
pub(crate) fn cloud(series: &[Series<'_>], label: &str) -> Markup {
    let is_drawn = |mark: &&CloudMark<'_>| mark.compile_ns.is_finite() && mark.compile_ns > 0.0 && mark.speedup > 0.0;
    let marks = || series.iter().flat_map(|run| run.marks.iter()).filter(is_drawn);
    if marks().count() < 3 {
        return html! {};
    }
    let across = Axis::of(marks().map(|mark| mark.compile_ns));
    // The axis contains 1, without which faster and slower cannot be distinguished in the drawing.
    let up = Axis::of(marks().map(|mark| mark.speedup).chain([1.0]));
    let x = |value: f64| LEFT + across.share(value) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| TOP + HEIGHT * (1.0 - up.share(value));
    let bottom = TOP + HEIGHT;
    let most = (MAX_MARKS / series.len().max(1)).max(1);
    let height = bottom + AXIS + LEGEND_ROW * series.len().div_ceil(LEGEND_COLUMNS) as f64;
    html! {
        svg.plot.cloud viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(label) {
            @for mark in up.marks() {
                line.(if mark == 1.0 { "unity" } else { "gridline" }) x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(mark))) y2=(at(y(mark))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(y(mark) + 4.0)) { (ratio(mark)) }
            }
            @for mark in across.marks() {
                line.gridline x1=(at(x(mark))) x2=(at(x(mark))) y1=(bottom) y2=(bottom + 4.0) {}
                text.tick.x x=(at(x(mark))) y=(bottom + 16.0) { (duration(mark)) }
            }
            text.axis x=(at((LEFT + WIDTH) / 2.0)) y=(bottom + 34.0) { "compile time" }
            text.axis transform=(format!("translate(12 {}) rotate(-90)", at(TOP + HEIGHT / 2.0))) { "speed-up" }
            @for (index, run) in series.iter().enumerate() {
                @let step = run.marks.len().div_ceil(most).max(1);
                g.(format!("c{}", run.series % COLOURS)) {
                    @for mark in run.marks.iter().step_by(step).filter(is_drawn) {
                        path.dot d=(shape(run.series, x(mark.compile_ns), y(mark.speedup))) {
                            title { (run.label) ", " (mark.name) ": " (duration(mark.compile_ns)) ", " (ratio(mark.speedup)) }
                        }
                    }
                    (legend(index, run, bottom + AXIS))
                }
            }
        }
    }
}

fn legend(index: usize, run: &Series<'_>, top: f64) -> Markup {
    let x = LEFT + (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64 * (index % LEGEND_COLUMNS) as f64;
    let y = top + LEGEND_ROW * (index / LEGEND_COLUMNS) as f64 + 6.0;
    html! {
        path.dot d=(shape(run.series, x, y)) {}
        text.name x=(at(x + 9.0)) y=(at(y + 4.0)) {
            (name_end(run.label, LEGEND_CHARS))
            title { (run.label) ", " (counted(run.marks.len(), "graph")) }
        }
    }
}

/// Returns the shape of a mark, so that runs differ without colour.
fn shape(series: usize, x: f64, y: f64) -> String {
    let (x, y) = (at(x), at(y));
    match shape_number(series) {
        0 => format!("M{x} {y}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"),
        1 => format!("M{x} {y}m-3.5-3.5h7v7h-7z"),
        2 => format!("M{x} {y}m0-4.5l4.5 8h-9z"),
        _ => format!("M{x} {y}m0-5l5 5l-5 5l-5-5z"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_many_runs_stays_small() {
        let series = |series| {
            let mark = |at: u32| CloudMark {
                compile_ns: 1e9 + f64::from(at),
                speedup: 2.0,
                name: "a-task-of-usual-length/000",
            };
            Series { label: "an author (a-run)", series, marks: (0..200).map(mark).collect() }
        };
        let drawn = cloud(&(0..20).map(series).collect::<Vec<_>>(), "x").into_string();
        assert!(drawn.len() < 120_000, "{}", drawn.len());
    }

    #[test]
    fn graphs_without_a_time_are_left_out() {
        let mark = |compile_ns, speedup| CloudMark { compile_ns, speedup, name: "g" };
        let of = |marks| cloud(&[Series { label: "a", series: 0, marks }], "x").into_string();
        assert_eq!(of(vec![mark(1e9, 2.0), mark(2e9, 1.0), mark(0.0, 3.0)]), "");
        let drawn = of(vec![mark(1e9, 2.0), mark(2e9, 0.5), mark(4e10, 3.0), mark(f64::NAN, 1.0)]);
        // One mark for each graph, and one in the legend.
        assert_eq!(drawn.matches("class=\"dot\"").count(), 4, "{drawn}");
        assert!(!drawn.contains("NaN") && drawn.contains("10.0 s"), "{drawn}");
    }
}
