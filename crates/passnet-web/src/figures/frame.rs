//! Frame, axes and legend of a figure.

use maud::{Markup, html};

use crate::{
    draw::{LegendGrid, at},
    format::name_end,
};

pub(super) const WIDTH: f64 = 760.0;
pub(super) const LEFT: f64 = 60.0;
pub(super) const RIGHT: f64 = 16.0;
pub(super) const TOP: f64 = 34.0;
pub(super) const PLOT: f64 = 320.0;
const AXIS: f64 = 46.0;
const LEGEND_ROW: f64 = 20.0;
/// Width of the square in front of a name of the legend.
const LEGEND_SQUARE: f64 = 20.0;

/// Colours that differ for any kind of colour vision (Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#00805c", "#b0558a", "#8a6d00", "#2a8fce", "#5b4fc7", "#666666"];

/// Style of a file that has no page around it; pages have the same rules in their style sheet.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#333}.m{text-anchor:middle}.e{text-anchor:end}\
.h{font-size:14px}.g{stroke:#ddd}.u{stroke:#777;stroke-dasharray:2 3}.line{fill:none;stroke-width:1.8}\
.dash{fill:none;stroke-width:1.4;stroke-dasharray:5 4}.paper{fill:#fff}";

pub(super) fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// Vertical axis of a figure: a function from values to heights, and the values to mark.
pub(super) struct Vertical<'a> {
    pub(super) title: &'a str,
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) y: &'a dyn Fn(f64) -> f64,
    /// A value that is marked.
    pub(super) unity: f64,
}

/// Horizontal axis: places and their labels.
pub(super) struct Horizontal<'a> {
    pub(super) title: &'a str,
    pub(super) ticks: Vec<(f64, String)>,
}

/// Draws a figure around its content.
pub(super) fn frame(
    title: &str,
    (across, up): (&Horizontal<'_>, &Vertical<'_>),
    names: &[&str],
    content: &Markup,
) -> Markup {
    let bottom = TOP + PLOT;
    let right = WIDTH - RIGHT;
    let grid = LegendGrid::of(names.iter().copied(), right - LEFT, LEGEND_SQUARE);
    let height = bottom + AXIS + grid.rows(names.len()) as f64 * LEGEND_ROW;
    html! {
        svg.figure viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
            rect.paper width=(WIDTH) height=(height) {}
            text.h.m x=(WIDTH / 2.0) y="20" { (title) }
            @for (value, label) in &up.ticks {
                line.g x1=(LEFT) x2=(right) y1=(at((up.y)(*value))) y2=(at((up.y)(*value))) {}
                text.e x=(LEFT - 6.0) y=(at((up.y)(*value) + 4.0)) { (label) }
            }
            line.u x1=(LEFT) x2=(right) y1=(at((up.y)(up.unity))) y2=(at((up.y)(up.unity))) {}
            @for (x, label) in &across.ticks { text.m x=(at(*x)) y=(bottom + 18.0) { (label) } }
            text.m x=(at((LEFT + right) / 2.0)) y=(bottom + 36.0) { (across.title) }
            text.m transform=(format!("translate(14 {}) rotate(-90)", TOP + PLOT / 2.0)) { (up.title) }
            (content)
            (legend(names, grid, bottom + AXIS))
        }
    }
}

fn legend(names: &[&str], grid: LegendGrid, top: f64) -> Markup {
    html! {
        @for (index, name) in names.iter().enumerate() {
            @let (row, offset) = grid.place(index);
            @let x = LEFT + offset;
            @let y = top + LEGEND_ROW * row as f64;
            rect x=(at(x)) y=(at(y)) width="14" height="10" fill=(colour(index)) {}
            text x=(at(x + LEGEND_SQUARE)) y=(at(y + 10.0)) { (name_end(name, grid.chars)) }
        }
    }
}

/// Returns the figure as a separate file.
pub(super) fn file(figure: Markup) -> String {
    let text = figure.into_string();
    // Inside an HTML page the namespace is implied; a file needs it to be shown at all.
    let (head, rest) = text.split_once('>').unwrap_or((&text, ""));
    let head = head.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{head}><style>{STYLE}</style>{rest}\n")
}
