//! The figures that GraphNet publishes, each as one SVG file: S(t), ES(t), and the distributions of speed-ups.
//!
//! One [`FigureSeries`] is one compiler: a run, or an upstream log. Every drawn value stands in the file in full
//! precision, in the attribute `data-values` of its curve. `docs/reference/figures.md` describes the figures.

mod curves;
mod frame;
mod series;
mod violins;

use passnet_score::EsSettings;

pub use self::series::{FigureSeries, category};
pub(crate) use self::{
    curves::{es_figure, s_figure},
    violins::violin_figure,
};

/// Returns the figures of some compilers, by file name. Empty without series.
pub fn figures(series: &[FigureSeries], settings: &EsSettings) -> Vec<(&'static str, String)> {
    if series.is_empty() {
        return Vec::new();
    }
    let drawn = [
        ("St.svg", s_figure(series, settings)),
        ("ESt.svg", es_figure(series, settings)),
        ("violin.svg", violin_figure(series, true)),
    ];
    drawn.into_iter().map(|(name, figure)| (name, frame::file(figure))).collect()
}
