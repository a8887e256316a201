//! Distributions of log2 of the speed-ups of correct graphs: by category the density, with a box of quartiles inside.

use maud::{Markup, html};

use super::{
    frame::{Horizontal, LEFT, PLOT, RIGHT, TOP, Vertical, WIDTH, colour, frame},
    series::FigureSeries,
};
use crate::{draw::at, format::name_end};

/// Width of a letter of a label, about.
const LETTER: f64 = 7.0;
/// Range of logarithms up to which the axis has labels at halves.
const MOST_HALVES: f64 = 6.0;
/// Heights at which a density is computed.
const STEPS: usize = 80;

/// Draws violins by category, and within a category by compiler. With `values`, each has its logarithms in full precision, which would
/// be too large for a page.
pub(crate) fn violin_figure(series: &[FigureSeries], values: bool) -> Markup {
    let mut categories: Vec<&str> = series.iter().flat_map(|entry| entry.speedups.keys()).map(String::as_str).collect();
    categories.sort_unstable();
    categories.dedup();
    let logs = |entry: &FigureSeries, category: &str| -> Vec<f64> {
        let mut logs: Vec<f64> = entry.speedups.get(category).into_iter().flatten().map(|ratio| ratio.log2()).collect();
        logs.retain(|log| log.is_finite());
        logs.sort_by(f64::total_cmp);
        logs
    };
    let all = series.iter().flat_map(|entry| categories.iter().flat_map(|category| logs(entry, category)));
    let (low, high) = all.fold((-0.5_f64, 0.5_f64), |(low, high), log| (low.min(log), high.max(log)));
    let margin = (high - low) * 0.08;
    let (low, high) = (low - margin, high + margin);
    let y = |log: f64| TOP + (1.0 - (log - low) / (high - low)) * PLOT;
    let group = (WIDTH - LEFT - RIGHT) / categories.len().max(1) as f64;
    let slot = group / (series.len() as f64 + 0.5);
    let content = html! {
        @for (column, category) in categories.iter().enumerate() {
            @for (index, entry) in series.iter().enumerate() {
                @let x = LEFT + group * column as f64 + slot * (index as f64 + 0.75);
                (violin(&logs(entry, category), (x, slot * 0.45), &y, &format!("{}, {category}", entry.name), (colour(index), values)))
            }
        }
    };
    // More labels would touch each other.
    let step = if high - low > MOST_HALVES { 1.0 } else { 0.5 };
    let ticks = ((low / step).ceil() as i32..=(high / step).floor() as i32).map(|tick| f64::from(tick) * step);
    let up = Vertical {
        title: "log2(speed-up)",
        ticks: ticks.map(|log| (log, format!("{log:.1}"))).collect(),
        y: &y,
        unity: 0.0,
    };
    let labels = categories.iter().enumerate();
    let chars = (group / LETTER) as usize;
    // A single category is all graphs, which needs no name.
    let labels = if categories.len() > 1 { labels } else { [].iter().enumerate() };
    let labels = labels.map(|(column, name)| (LEFT + group * (column as f64 + 0.5), name_end(name, chars))).collect();
    let across = Horizontal { title: if categories.len() > 1 { "category" } else { "" }, ticks: labels };
    let names: Vec<&str> = series.iter().map(|entry| entry.name.as_str()).collect();
    frame("Speed-ups of correct graphs", (&across, &up), &names, &content)
}

/// One violin of sorted logarithms, around `x`; nothing without values.
fn violin(
    logs: &[f64],
    (x, half): (f64, f64),
    y: &dyn Fn(f64) -> f64,
    name: &str,
    (colour, values): (&str, bool),
) -> Markup {
    let (Some(&first), Some(&last)) = (logs.first(), logs.last()) else { return html! {} };
    // The density is normalised to its own maximum below, so constant factors of the kernel are left out.
    let width = bandwidth(logs);
    let heights: Vec<f64> = (0..=STEPS).map(|step| first + (last - first) * step as f64 / STEPS as f64).collect();
    let densities: Vec<f64> = heights.iter().map(|&height| density(logs, width, height)).collect();
    let most = densities.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let side = |sign: f64| {
        let points = heights.iter().zip(&densities);
        points
            .map(move |(&height, density)| format!("{},{}", at(x + sign * half * density / most), at(y(height))))
            .collect::<Vec<_>>()
    };
    let mut outline = side(-1.0);
    outline.extend(side(1.0).into_iter().rev());
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(logs, share));
    let values = values.then(|| logs.iter().map(|log| format!("{log:?}")).collect::<Vec<_>>().join(" "));
    html! {
        g data-violin=(name) data-values=[values] {
            title { (name) ": " (logs.len()) " graphs, median " (format!("{:.3}", middle.exp2())) }
            polygon points=(outline.join(" ")) fill=(colour) fill-opacity="0.45" stroke=(colour) {}
            rect x=(at(x - 3.0)) width="6" y=(at(y(high))) height=(at((y(low) - y(high)).max(1.0))) fill="#333" {}
            circle cx=(at(x)) cy=(at(y(middle))) r="2.5" fill="#fff" {}
        }
    }
}

/// Scott's rule, in the form that seaborn uses.
fn bandwidth(sorted: &[f64]) -> f64 {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // At least a hundredth of a factor of two: equal values would have a bandwidth of 0.
    (variance.sqrt() * count.powf(-0.2)).max(0.02)
}

fn density(sorted: &[f64], width: f64, at: f64) -> f64 {
    sorted.iter().map(|value| (-0.5 * ((at - value) / width).powi(2)).exp()).sum()
}

/// Returns the quantile with linear interpolation.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_categories_do_not_overlap() {
        let name = |at: usize| format!("a-library-with-a-long-name-{at}");
        let speedups = (0..10).map(|at| (name(at), vec![1.0, 2.0, 3.0])).collect();
        let series = |speedups| FigureSeries { name: "a".to_owned(), scores: Vec::new(), speedups };
        let drawn = violin_figure(&[series(speedups)], false).into_string();
        assert!(drawn.contains("-3</text>") && !drawn.contains(">a-library"), "{drawn}");
        let one = violin_figure(&[series([("all".to_owned(), vec![1.0, 2.0])].into())], false).into_string();
        assert!(!one.contains(">all<") && !one.contains("category"), "{one}");
    }

    #[test]
    fn quartiles_are_interpolated() {
        let sorted = [0.0, 1.0, 2.0, 4.0];
        assert_eq!([0.25, 0.5, 0.75].map(|share| quantile(&sorted, share)), [0.75, 1.5, 2.5]);
        assert_eq!(quantile(&[3.0], 0.5), 3.0);
    }
}
