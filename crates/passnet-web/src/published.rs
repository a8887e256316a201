//! The published figures of runs, inside a page.

use maud::{Markup, html};
use passnet_score::Outcomes;

use crate::{
    compare::RankedRun,
    figures::{FigureSeries, es_figure, s_figure, violin_figure},
    shell::scrolling,
};

/// Tasks up to which each is a separate category.
const MAX_CATEGORIES: usize = 10;

/// S(t), ES(t) and the distributions of speed-ups, one curve per run.
pub(crate) fn published_figures(entries: &[RankedRun<'_>]) -> Markup {
    let Some(settings) = entries.first().map(|entry| entry.run.score.settings.es) else { return html! {} };
    let series: Vec<FigureSeries> = entries.iter().filter_map(series).collect();
    if series.is_empty() {
        return html! { p.about { "No graph counts." } };
    }
    html! {
        p.about {
            "The figures as GraphNet publishes them. " code { "passnet plot" } " writes them as files, also from upstream logs."
        }
        (scrolling("S by tolerance", s_figure(&series, &settings)))
        (scrolling("ES by tolerance, as published", es_figure(&series, &settings)))
        (scrolling("Distribution of speed-ups", violin_figure(&series, false)))
    }
}

fn series(entry: &RankedRun<'_>) -> Option<FigureSeries> {
    let outcomes = Outcomes::from_verdicts(&entry.run.verdicts, entry.run.header.settings.correct_at);
    let many = entry.run.score.tasks.len() > MAX_CATEGORIES;
    let category = |task: &str| if many { "all".to_owned() } else { task.to_owned() };
    let settings = entry.run.score.settings.es;
    FigureSeries::new(entry.label.clone(), &outcomes.graphs, &settings, |outcome| category(&outcome.id.task)).ok()
}
