//! Statistics as one HTML page with plots in SVG, without scripts.

use std::fmt::Write as _;

use super::stats::TrajectoryStats;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 260.0;
const MARGIN: f64 = 48.0;
const ROW: f64 = 22.0;

/// Returns the page.
pub fn page(stats: &TrajectoryStats) -> String {
    let failures: Vec<(String, usize)> =
        stats.failures.iter().map(|(status, &count)| (status.name().to_owned(), count)).collect();
    let flow: Vec<(String, usize)> =
        stats.flow.iter().map(|flow| (format!("{} \u{2192} {}", flow.first, flow.last), flow.attempts)).collect();
    let exits: Vec<(String, usize)> =
        stats.exits.iter().map(|(exit, &count)| (format!("{exit:?}").to_lowercase(), count)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Trajectories</title><style>\
         body{{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2em auto;padding:0 1em;color:#222;background:#fff}}\
         svg{{width:100%;height:auto}} text{{font:12px system-ui,sans-serif;fill:#444}}\
         @media(prefers-color-scheme:dark){{body{{color:#ddd;background:#111}} text{{fill:#bbb}}}}\
         </style></head><body><h1>Trajectories</h1><p>{} attempts at {} tasks, {} steps, {} evaluations, {} tokens. Geometric mean of \
         the final scores {:.3} (1 is doing nothing), mean reward {:.3}; {} attempts with every graph correct, {} that broke a \
         rule.</p>\n<h2>Best score so far against the step</h2><p>Median and quartiles over attempts.</p>{}\n\
         <h2>From the first evaluation to the last</h2>{}\n<h2>Graphs by status, over all evaluations</h2>{}\n\
         <h2>How attempts ended</h2>{}\n</body></html>\n",
        stats.attempts,
        stats.tasks,
        stats.steps,
        stats.evaluations,
        stats.usage.tokens(),
        stats.score,
        stats.reward,
        stats.all_correct,
        stats.cheated,
        curve(stats),
        bars(&flow),
        bars(&failures),
        bars(&exits)
    )
}

fn curve(stats: &TrajectoryStats) -> String {
    let points = &stats.best_so_far;
    let Some(last) = points.last() else { return "<p>No steps.</p>".to_owned() };
    // The axis always shows 1 and some space above it, so that curves of different runs can be compared by
    // eye.
    let most = points.iter().map(|point| point.high).fold(1.2, f64::max);
    let least = points.iter().map(|point| point.low).fold(1.0, f64::min);
    let x = |step: usize| MARGIN + (step as f64 - 1.0) / (last.step.max(2) as f64 - 1.0) * (WIDTH - 2.0 * MARGIN);
    let y = |score: f64| HEIGHT - MARGIN - (score - least) / (most - least) * (HEIGHT - 2.0 * MARGIN);
    let path = |values: &mut dyn Iterator<Item = (usize, f64)>| {
        values.map(|(step, score)| format!("{:.1},{:.1}", x(step), y(score))).collect::<Vec<_>>().join(" ")
    };
    let band = path(&mut points.iter().map(|p| (p.step, p.high)).chain(points.iter().rev().map(|p| (p.step, p.low))));
    let median = path(&mut points.iter().map(|p| (p.step, p.median)));
    let (bottom, right) = (HEIGHT - MARGIN, WIDTH - MARGIN);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"best score so far\">\
         <polygon points=\"{band}\" fill=\"#4a7\" opacity=\"0.25\"/><polyline points=\"{median}\" fill=\"none\" stroke=\"#275\" \
         stroke-width=\"2\"/><line x1=\"{MARGIN}\" y1=\"{one:.1}\" x2=\"{right}\" y2=\"{one:.1}\" stroke=\"#888\" \
         stroke-dasharray=\"4 4\"/><text x=\"4\" y=\"{one:.1}\">1</text><text x=\"4\" y=\"{top:.1}\">{most:.2}</text>\
         <text x=\"{MARGIN}\" y=\"{label:.1}\">step 1</text><text x=\"{right}\" y=\"{label:.1}\" text-anchor=\"end\">step {}</text></svg>",
        last.step,
        one = y(1.0),
        top = MARGIN,
        label = bottom + 20.0,
    )
}

fn bars(counts: &[(String, usize)]) -> String {
    let most = counts.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1) as f64;
    let height = ROW * counts.len().max(1) as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">");
    for (row, (name, count)) in counts.iter().enumerate() {
        let (top, length) = (row as f64 * ROW, *count as f64 / most * (WIDTH - 290.0));
        let _ = write!(
            svg,
            "<text x=\"200\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect x=\"210\" y=\"{:.1}\" width=\"{length:.1}\" height=\"14\" \
             fill=\"#59a\"/><text x=\"{:.1}\" y=\"{:.1}\">{count}</text>",
            top + 15.0,
            escaped(name),
            top + 4.0,
            216.0 + length,
            top + 15.0
        );
    }
    svg + "</svg>"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
