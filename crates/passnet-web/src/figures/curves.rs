//! S(t) and ES(t), as the public plots draw them: S(t) up to t = 0; ES(t) as a line up to t = 0 and in steps after it,
//! with the curve of its aggregate form dashed on top.

use maud::{Markup, html};
use passnet_score::{EsSettings, ToleranceScore};

use super::{
    frame::{Horizontal, LEFT, PLOT, RIGHT, TOP, Vertical, WIDTH, colour, frame},
    series::FigureSeries,
};
use crate::draw::at;

/// S(t) for t up to 0, one line per compiler.
pub(crate) fn s_figure(series: &[FigureSeries], settings: &EsSettings) -> Markup {
    let axes = FigureAxes::of(series, 0, |score| score.s);
    let content = html! {
        @for (index, entry) in series.iter().enumerate() {
            @let points = axes.points(entry, |score| score.s);
            polyline.line data-series=(entry.name) data-values=(values(&points)) points=(axes.path(&points, false)) stroke=(colour(index)) {}
        }
    };
    axes.figure(&format!("S(t), {}", described(settings)), "S(t)", series, &content)
}

/// ES(t) for all t, one line per compiler, and its aggregate form.
pub(crate) fn es_figure(series: &[FigureSeries], settings: &EsSettings) -> Markup {
    let axes = FigureAxes::of(series, i32::MAX, |score| score.es);
    let content = html! {
        @for (index, entry) in series.iter().enumerate() {
            @let points = axes.points(entry, |score| score.es);
            @let aggregate = axes.points(entry, |score| aggregated(score, settings));
            polyline.line data-series=(entry.name) data-values=(values(&points)) points=(axes.path(&points, true)) stroke=(colour(index)) {}
            polyline.dash data-aggregate=(entry.name) data-values=(values(&aggregate)) points=(axes.path(&aggregate, true)) stroke=(colour(index)) {}
        }
    };
    let title = format!("ES(t), {}; dashed: from aggregate statistics", described(settings));
    axes.figure(&title, "ES(t)", series, &content)
}

fn described(settings: &EsSettings) -> String {
    format!("p = {}, b = {}", settings.slowdown_penalty, settings.error_base)
}

/// alpha^lambda * beta^(lambda eta p) * gamma^(1 - lambda).
fn aggregated(score: &ToleranceScore, settings: &EsSettings) -> f64 {
    let of = &score.parameters;
    of.alpha.powf(of.lambda)
        * of.beta.powf(of.lambda * of.eta * settings.slowdown_penalty)
        * of.gamma.powf(1.0 - of.lambda)
}

/// `t:value` pairs; a program reads back the same numbers.
fn values(points: &[(i32, f64)]) -> String {
    // `Debug` prints the shortest text that reads back as the same number.
    points.iter().map(|(t, value)| format!("{t}:{value:?}")).collect::<Vec<_>>().join(" ")
}

struct FigureAxes {
    first: i32,
    last: i32,
    low: f64,
    high: f64,
}

impl FigureAxes {
    fn of(series: &[FigureSeries], last: i32, value: fn(&ToleranceScore) -> f64) -> Self {
        let points = || series.iter().flat_map(|entry| &entry.scores).filter(|score| score.t <= last);
        let (low, high) = points().map(value).fold((1.0_f64, 1.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let margin = (high - low).max(0.1) * 0.08;
        Self {
            first: points().map(|score| score.t).min().unwrap_or(0),
            last: points().map(|score| score.t).max().unwrap_or(0),
            low: (low - margin).max(0.0),
            high: high + margin,
        }
    }

    fn points(&self, entry: &FigureSeries, value: impl Fn(&ToleranceScore) -> f64) -> Vec<(i32, f64)> {
        entry.scores.iter().filter(|score| score.t <= self.last).map(|score| (score.t, value(score))).collect()
    }

    fn x(&self, t: i32) -> f64 {
        let share = f64::from(t - self.first) / f64::from((self.last - self.first).max(1));
        LEFT + 12.0 + share * (WIDTH - LEFT - RIGHT - 24.0)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - (value - self.low) / (self.high - self.low)) * PLOT
    }

    /// Returns the corners of a curve. In `steps`, a value after t = 0 holds until the next t.
    fn path(&self, points: &[(i32, f64)], steps: bool) -> String {
        let mut corners: Vec<String> = Vec::new();
        let mut before: Option<f64> = None;
        for &(t, value) in points {
            if steps && t > 0 {
                corners.extend(before.map(|before| format!("{},{}", at(self.x(t)), at(self.y(before)))));
            }
            corners.push(format!("{},{}", at(self.x(t)), at(self.y(value))));
            before = Some(value);
        }
        corners.join(" ")
    }

    fn figure(&self, title: &str, up: &str, series: &[FigureSeries], content: &Markup) -> Markup {
        let step = tick_step(self.high - self.low);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let ticks = (first..=last).map(|tick| tick as f64 * step);
        let y = |value: f64| self.y(value);
        let up = Vertical {
            title: up,
            ticks: ticks.map(|value| (value, format!("{value:.2}"))).collect(),
            y: &y,
            unity: 1.0,
        };
        let labels = (self.first..=self.last).map(|t| (self.x(t), t.to_string().replace('-', "−"))).collect();
        let across = Horizontal { title: "tolerance t", ticks: labels };
        let names: Vec<&str> = series.iter().map(|entry| entry.name.as_str()).collect();
        frame(title, (&across, &up), &names, content)
    }
}

/// 1, 2 or 5 times a power of ten, such that a range has four to ten steps.
fn tick_step(range: f64) -> f64 {
    let raw = range.max(1e-6) / 5.0;
    let power = 10_f64.powf(raw.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|&step| step >= raw).unwrap_or(power)
}
