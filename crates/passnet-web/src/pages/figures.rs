//! Figures and costs of the runs over a suite.

use maud::html;

use super::{
    context::{Context, Page},
    suite::cautioned,
};
use crate::{
    PageId,
    compare::RankedRun,
    costs::costs,
    draw::COLOURS,
    format::counted,
    published::published_figures,
    shell::section,
    standings::{device_of, path_of},
};

pub(super) fn page(context: &Context<'_>, index: usize) -> Page {
    let suite = &context.site.suites[index];
    let entries = shown(context, index);
    let lead = html! {
        @if suite.runs.len() > entries.len() {
            p { "The best run of each author on each device and path: " (counted(entries.len(), "run")) " of " (suite.runs.len()) "." }
        }
        (cautioned(context, index))
    };
    let sections = vec![
        section("figures", "Scores and speed-ups", published_figures(&entries)),
        section("costs", "Compile time and memory", costs(&entries)),
    ];
    let above = vec![(format!("Suite {}", suite.title()), PageId::Suite(index, 0))];
    Page { title: format!("Figures of suite {}", suite.title()), above, lead, sections }
}

/// Returns the best run of each author on each device and path, as many as there are colours. Several runs of one author would hide
/// the others.
fn shown<'a>(context: &'a Context<'_>, index: usize) -> Vec<RankedRun<'a>> {
    let site = context.site;
    let mut seen = Vec::new();
    let mut entries: Vec<RankedRun<'_>> = Vec::new();
    for &run in &site.suites[index].runs {
        let view = &site.runs[run];
        let key = (view.author_name(), device_of(&view.header), path_of(view));
        if entries.len() < COLOURS && !seen.contains(&key) {
            entries.push(RankedRun { series: entries.len(), ..context.entry(run) });
            seen.push(key);
        }
    }
    entries
}
