//! ES_t over t as an SVG drawing: logarithmic score axis, one line per run, the region of forgiven errors marked.

use maud::{Markup, html};
use passnet_score::ToleranceScore;

use crate::{
    compare::RankedRun,
    draw::{COLOURS, LegendGrid, at, shape_number},
    format::{name_end, score},
};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 24.0;
const PLOT_HEIGHT: f64 = 300.0;
/// Tick labels and axis title below the plot.
const AXIS_HEIGHT: f64 = 44.0;
const LEGEND_ROW: f64 = 20.0;
/// Width of the line in front of a name of the legend.
const LEGEND_LINE: f64 = 34.0;
/// Error classes are forgiven from t = 1. The shaded region begins half a step before.
const FORGIVEN_FROM: f64 = 0.5;

/// The plot's coordinates.
struct CurveAxes {
    first_t: i32,
    last_t: i32,
    low: f64,
    high: f64,
}

impl CurveAxes {
    /// Returns axes that contain all curves, and 1.
    fn of(entries: &[RankedRun<'_>]) -> Option<Self> {
        let points = || entries.iter().flat_map(|entry| &entry.run.score.by_tolerance);
        let (low, high) =
            points().map(|at| at.es).fold((1.0_f64, 1.0_f64), |(low, high), es| (low.min(es), high.max(es)));
        Some(Self {
            first_t: points().map(|at| at.t).min()?,
            last_t: points().map(|at| at.t).max()?,
            // The axis ends just outside a labelled value, so that each curve lies between two labels.
            low: decade_ticks().filter(|&tick| tick <= low).last().unwrap_or(low) / 1.1,
            high: decade_ticks().find(|&tick| tick >= high).unwrap_or(high) * 1.1,
        })
    }

    fn x(&self, t: f64) -> f64 {
        let share = (t - f64::from(self.first_t)) / f64::from((self.last_t - self.first_t).max(1));
        LEFT + 12.0 + share * (WIDTH - LEFT - RIGHT - 24.0)
    }

    fn y(&self, es: f64) -> f64 {
        // Logarithmic: scores are geometric means, so equal distances are equal ratios.
        let share = (es / self.low).ln() / (self.high / self.low).ln();
        TOP + (1.0 - share) * PLOT_HEIGHT
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = (self.low, self.high);
        decade_ticks().filter(move |tick| (low..=high).contains(tick))
    }
}

/// 1, 2, 5 times powers of ten, 0.001 to 1000.
fn decade_ticks() -> impl Iterator<Item = f64> {
    (-3..=2).flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(exponent))).chain([1000.0])
}

/// Draws the curves; nothing for no runs. Ids of the drawing begin with `id`.
pub(crate) fn curves(entries: &[RankedRun<'_>], id: &str) -> Markup {
    let Some(axes) = CurveAxes::of(entries) else { return html! {} };
    let height = TOP + PLOT_HEIGHT + AXIS_HEIGHT + legend_grid(entries).rows(entries.len()) as f64 * LEGEND_ROW;
    html! {
        svg.curves viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-labelledby=(format!("{id}-title {id}-desc")) {
            title id=(format!("{id}-title")) { "ES by tolerance" }
            desc id=(format!("{id}-desc")) { "One line per author; the values are in the table below the figure." }
            (grid(&axes))
            @for entry in entries { (curve(&axes, entry)) }
            (legend(entries))
        }
    }
}

fn grid(axes: &CurveAxes) -> Markup {
    let (left, right, bottom) = (LEFT, WIDTH - RIGHT, TOP + PLOT_HEIGHT);
    let forgiven = axes.x(FORGIVEN_FROM);
    html! {
        @if axes.last_t >= 1 {
            rect.forgiven x=(at(forgiven)) y=(at(TOP)) width=(at(right - forgiven)) height=(at(PLOT_HEIGHT)) {}
            text.note x=(at(forgiven + 4.0)) y=(at(TOP - 8.0)) { "errors forgiven by class" }
        }
        @for tick in axes.ticks() {
            line.gridline.unity[tick == 1.0] x1=(at(left)) x2=(at(right)) y1=(at(axes.y(tick))) y2=(at(axes.y(tick))) {}
            text.tick.y x=(at(left - 8.0)) y=(at(axes.y(tick) + 4.0)) { (tick) }
        }
        @for t in axes.first_t..=axes.last_t {
            line.gridline x1=(at(axes.x(t.into()))) x2=(at(axes.x(t.into()))) y1=(at(bottom)) y2=(at(bottom + 5.0)) {}
            text.tick.x x=(at(axes.x(t.into()))) y=(at(bottom + 18.0)) { (t.to_string().replace('-', "−")) }
        }
        text.axis x=(at((left + right) / 2.0)) y=(at(bottom + 36.0)) { "tolerance t (stricter to the left)" }
        text.axis transform=(format!("translate(12 {}) rotate(-90)", at(TOP + PLOT_HEIGHT / 2.0))) { "ES(t)" }
    }
}

fn curve(axes: &CurveAxes, entry: &RankedRun<'_>) -> Markup {
    let scores = &entry.run.score.by_tolerance;
    let points: Vec<String> =
        scores.iter().map(|score| format!("{},{}", at(axes.x(score.t.into())), at(axes.y(score.es)))).collect();
    html! {
        g.series.(colour(entry)).no-passes[entry.has_no_passes()] {
            polyline points=(points.join(" ")) {}
            @for ToleranceScore { t, es, .. } in scores {
                path.marker d=(marker(entry.series, axes.x((*t).into()), axes.y(*es))) {
                    title { (entry.label) ", t = " (t) ": " (score(*es)) }
                }
            }
        }
    }
}

fn legend_grid(entries: &[RankedRun<'_>]) -> LegendGrid {
    LegendGrid::of(entries.iter().map(|entry| entry.label.as_str()), WIDTH - LEFT - RIGHT, LEGEND_LINE)
}

fn legend(entries: &[RankedRun<'_>]) -> Markup {
    let grid = legend_grid(entries);
    let top = TOP + PLOT_HEIGHT + AXIS_HEIGHT + LEGEND_ROW / 2.0;
    html! {
        @for (index, entry) in entries.iter().enumerate() {
            @let (row, offset) = grid.place(index);
            @let x = LEFT + offset;
            @let y = top + LEGEND_ROW * row as f64;
            g.series.(colour(entry)).no-passes[entry.has_no_passes()] {
                polyline points=(format!("{},{y} {},{y}", at(x), at(x + 28.0))) {}
                path.marker d=(marker(entry.series, x + 14.0, y)) {}
                text.name x=(at(x + LEGEND_LINE)) y=(at(y + 4.0)) { (name_end(&entry.label, grid.chars)) title { (entry.label) } }
            }
        }
    }
}

fn colour(entry: &RankedRun<'_>) -> String {
    format!("c{}", entry.series % COLOURS)
}

/// Returns the shape of a point, so that lines differ without colour.
fn marker(series: usize, x: f64, y: f64) -> String {
    let (x, y) = (at(x), at(y));
    match shape_number(series) {
        0 => format!("M{x} {y}m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z"),
        1 => format!("M{x} {y}m-3-3h6v6h-6z"),
        2 => format!("M{x} {y}m0-4l4 7h-8z"),
        _ => format!("M{x} {y}m0-4l4 4l-4 4l-4-4z"),
    }
}

/// Returns the drawn values as a table: tolerances down, runs across.
pub(crate) fn curve_table(entries: &[RankedRun<'_>]) -> Markup {
    let Some(axes) = CurveAxes::of(entries) else { return html! {} };
    let value = |entry: &RankedRun<'_>, t: i32| {
        entry.run.score.by_tolerance.iter().find(|at| at.t == t).map_or_else(|| "–".to_owned(), |at| score(at.es))
    };
    html! {
        details {
            summary { "The same as a table" }
            div.scroll role="region" aria-label="ES by tolerance" tabindex="0" {
                table {
                    thead { tr { th.number scope="col" { "t" } @for entry in entries { th.number.author scope="col" { (entry.label) } } } }
                    tbody {
                        @for t in axes.first_t..=axes.last_t {
                            tr {
                                th.number scope="row" { (t) }
                                @for entry in entries { td.number { (value(entry, t)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
