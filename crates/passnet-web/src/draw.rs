//! Drawings as inline SVG.

pub(crate) mod bars;
pub(crate) mod cloud;
pub(crate) mod difference;
mod fold;
pub(crate) mod forest;
pub(crate) mod graph;
mod graph_parts;
pub(crate) mod history;
mod layout;
mod legend;
pub(crate) mod lines;
mod names;
pub(crate) mod plots;
pub(crate) mod scatter;

pub(crate) use self::legend::LegendGrid;

/// Colours (`c0` ... in the style sheet) before they repeat.
pub(crate) const COLOURS: usize = 8;

/// Shapes of marks before they repeat.
const SHAPES: usize = 4;

/// Returns the number of a shape. It differs between runs of one colour.
pub(crate) const fn shape_number(series: usize) -> usize {
    (series + series / COLOURS) % SHAPES
}

/// Returns a coordinate, to a tenth of a unit.
pub(crate) fn at(coordinate: f64) -> String {
    let text = format!("{coordinate:.1}");
    // Coordinates are most of a page's bytes.
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}
