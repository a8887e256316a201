//! The published figures of runs, inside a page.

use maud::{Markup, html};
use passnet_score::{Outcomes, TaskScore};

use crate::{
    compare::RankedRun,
    figures::{FigureSeries, es_figure, s_figure, violin_figure},
    shell::scrolling,
};

/// Tasks up to which each is a separate category.
const MAX_CATEGORIES: usize = 10;
/// Least number of graphs of a task that is a separate category: fewer values have no distribution.
const FEWEST_GRAPHS: usize = 5;

/// S(t), ES(t) and the distributions of speed-ups, one curve per run.
pub(crate) fn published_figures(entries: &[RankedRun<'_>]) -> Markup {
    let Some(settings) = entries.first().map(|entry| entry.run.score.settings.es) else { return html! {} };
    // In the order of their colours elsewhere on the page, because figures number their colours.
    let mut in_order: Vec<&RankedRun<'_>> = entries.iter().collect();
    in_order.sort_by_key(|entry| entry.series);
    let is_by_task = is_by_task(entries);
    let series: Vec<FigureSeries> = in_order.into_iter().filter_map(|entry| series(entry, is_by_task)).collect();
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

/// Returns whether each task is a separate category. All runs of a figure have the same categories.
fn is_by_task(entries: &[RankedRun<'_>]) -> bool {
    let is_few = |entry: &RankedRun<'_>| entry.run.score.tasks.len() <= MAX_CATEGORIES;
    let is_large = |task: &TaskScore| task.tally.graphs >= FEWEST_GRAPHS;
    entries.iter().all(|entry| is_few(entry) && entry.run.score.tasks.iter().all(is_large))
}

fn series(entry: &RankedRun<'_>, is_by_task: bool) -> Option<FigureSeries> {
    let outcomes = Outcomes::from_verdicts(&entry.run.verdicts, entry.run.header.settings.correct_at);
    let category = |task: &str| if is_by_task { task.to_owned() } else { "all".to_owned() };
    let settings = entry.run.score.settings.es;
    FigureSeries::new(entry.label.clone(), &outcomes.graphs, &settings, |outcome| category(&outcome.id.task)).ok()
}
