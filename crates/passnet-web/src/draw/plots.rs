//! Plots of numbers: distributions of speed-ups, times of trials.

use maud::{Markup, html};
use passnet_score::median;

use super::at;
use crate::format::{counted, duration, ratio};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 58.0;
/// Half of the last label of an axis.
const RIGHT: f64 = 22.0;
const TOP: f64 = 10.0;
const HEIGHT: f64 = 150.0;
const AXIS: f64 = 34.0;

/// Title of the axis of [`ratios`] for speed-ups.
pub(crate) const SPEEDUP: &str = "speed-up against eager";

/// Ratios as a histogram with a logarithmic axis and its title; 1 is marked. Nothing for no values.
pub(crate) fn ratios(values: &[f64], label: &str, axis: &str) -> Markup {
    const BINS_PER_OCTAVE: f64 = 6.0;
    let bin = |value: f64| (value.log2() * BINS_PER_OCTAVE).floor() as i32;
    let bins: Vec<i32> = values.iter().filter(|value| value.is_finite() && **value > 0.0).map(|&v| bin(v)).collect();
    let (Some(&first), Some(&last)) = (bins.iter().min(), bins.iter().max()) else {
        return html! { p.about { "No graph was timed." } };
    };
    // Room for 1, and never more bars than the plot has pixels for.
    let (first, last) = (first.clamp(-60, -1), last.clamp(0, 60));
    let mut counts = vec![0_usize; (last - first + 1) as usize];
    for bin in bins {
        counts[(bin.clamp(first, last) - first) as usize] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let step = (WIDTH - LEFT - RIGHT) / counts.len() as f64;
    let x = |bin: f64| LEFT + (bin - f64::from(first)) * step;
    let value_at = |bin: i32| 2_f64.powf(f64::from(bin) / BINS_PER_OCTAVE);
    // A narrow plot has a mark at each bar, because few octaves begin in it.
    let distance = if counts.len() <= 6 { 1 } else { 6 };
    let marks = (first.div_euclid(6) * 6..=last + 1).step_by(distance).filter(|bin| *bin >= first);
    let bottom = TOP + HEIGHT;
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {}", bottom + AXIS)) role="img" aria-label=(label) {
            line.gridline x1=(LEFT) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
            text.tick.y x=(LEFT - 6.0) y=(TOP + 8.0) { (most) }
            text.tick.y x=(LEFT - 6.0) y=(bottom) { "0" }
            @for (index, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                @let bin = first + index as i32;
                @let height = HEIGHT * count as f64 / most as f64;
                rect.(if bin < 0 { "slower" } else { "faster" }) x=(at(x(f64::from(bin)) + 0.5)) y=(at(bottom - height))
                    width=(at((step - 1.0).max(0.5))) height=(at(height)) {
                    title { (counted(count, "graph")) ", " (ratio(value_at(bin))) " to " (ratio(value_at(bin + 1))) }
                }
            }
            line.unity x1=(at(x(0.0))) x2=(at(x(0.0))) y1=(TOP) y2=(bottom + 4.0) {}
            @for bin in marks { text.tick.x x=(at(x(f64::from(bin)))) y=(bottom + 16.0) { (ratio(value_at(bin))) } }
            text.axis x=(at((LEFT + WIDTH) / 2.0)) y=(bottom + 31.0) { (axis) }
        }
    }
}

/// One side of a measurement: its name, its class and its times in order, in nanoseconds.
pub(crate) struct PlotSide<'a> {
    pub(crate) name: &'a str,
    pub(crate) class: &'static str,
    pub(crate) times: Vec<f64>,
}

/// Trial times in the order in which they were taken; far outliers are at the upper edge.
pub(crate) fn trials(sides: &[PlotSide<'_>], label: &str) -> Markup {
    const MAX_POINTS: usize = 400;
    let mut all: Vec<f64> = sides.iter().flat_map(|side| side.times.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let Some(&low) = all.first() else { return html! {} };
    // One interrupted trial can take a hundred times as long and would flatten all others.
    let high = all[(all.len() - 1) * 98 / 100] * 1.1;
    let low = low * 0.95;
    let y = |time: f64| TOP + HEIGHT * (1.0 - ((time - low) / (high - low).max(1.0)).clamp(0.0, 1.0));
    let bottom = TOP + HEIGHT;
    let dots = |times: &[f64]| {
        let every = times.len().div_ceil(MAX_POINTS).max(1);
        let width = (WIDTH - LEFT - RIGHT) / times.len().max(1) as f64;
        let points = times.iter().enumerate().step_by(every);
        points
            // A line of length 0 with round ends draws a dot in a few bytes. A `circle` element would take
            // many more.
            .map(|(index, &time)| format!("M{} {}h0", at(LEFT + (index as f64 + 0.5) * width), at(y(time))))
            .collect::<String>()
    };
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {}", bottom + AXIS)) role="img" aria-label=(label) {
            @for tick in [low / 0.95, (low + high) / 2.0, high] {
                line.gridline x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(tick))) y2=(at(y(tick))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(y(tick) + 4.0)) { (duration(tick)) }
            }
            @for (index, side) in sides.iter().enumerate() {
                g.(side.class) {
                    path.dots d=(dots(&side.times)) {}
                    path.dots d=(format!("M{} {}h0", at(LEFT + 8.0 + 170.0 * index as f64), at(bottom + 22.0))) {}
                }
                text.name x=(at(LEFT + 16.0 + 170.0 * index as f64)) y=(at(bottom + 26.0)) { (side.name) ", median " (duration(median(&mut side.times.clone()).unwrap_or(0.0))) }
            }
        }
    }
}

/// Score after each step, and the best so far.
pub(crate) fn steps(scores: &[(usize, f64)], label: &str) -> Markup {
    let last = scores.iter().map(|&(step, _)| step).max().unwrap_or(0).max(1) as f64;
    let high = scores.iter().map(|&(_, score)| score).fold(1.0, f64::max) * 1.05;
    let x = |step: usize| LEFT + 6.0 + step as f64 / last * (WIDTH - LEFT - RIGHT - 12.0);
    let y = |score: f64| TOP + HEIGHT * (1.0 - score.max(0.0) / high);
    let bottom = TOP + HEIGHT;
    let mut best = f64::NEG_INFINITY;
    let mut line = String::new();
    for &(step, score) in scores {
        best = best.max(score);
        // Horizontal, then vertical: the best score holds until the step that raises it.
        let across = if line.is_empty() { format!("M{} ", at(x(step))) } else { format!("H{}V", at(x(step))) };
        line.push_str(&format!("{across}{}", at(y(best))));
    }
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {}", bottom + AXIS)) role="img" aria-label=(label) {
            @for tick in [0.0, 1.0, high] {
                line.gridline x1=(LEFT) x2=(WIDTH - RIGHT) y1=(at(y(tick))) y2=(at(y(tick))) {}
                text.tick.y x=(LEFT - 6.0) y=(at(y(tick) + 4.0)) { (format!("{tick:.2}")) }
            }
            text.tick.x x=(at(x(0))) y=(bottom + 16.0) { "0" }
            text.tick.x x=(WIDTH - RIGHT - 6.0) y=(bottom + 16.0) { (last) }
            text.axis x=(at((LEFT + WIDTH) / 2.0)) y=(bottom + 31.0) { "step; the line is the best so far" }
            g.c0 {
                path.line d=(line) {}
                path.dots d=(scores.iter().map(|&(step, score)| format!("M{} {}h0", at(x(step)), at(y(score)))).collect::<String>()) {}
            }
        }
    }
}
