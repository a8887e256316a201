use maud::html;

use crate::{
    RunView,
    compare::{cautions, ranked},
    costs::costs,
    curves::{curve_table, curves},
    environment::environment,
    failures::failures,
    format::counted,
    leaderboard::leaderboard,
    published::published_figures,
    shell::{Document, document, section},
    tasks::tasks,
};

/// Returns the report of one or several runs over one suite: a whole HTML document, to be written to a file as it is.
///
/// The order of `runs` decides only colours. Tables are ranked.
pub fn report_page(runs: &[RunView]) -> String {
    // Ranked first, because tables and figures must name the runs in the same order.
    let entries = ranked(runs);
    let title = title(runs);
    let labels: Vec<&str> = entries.iter().map(|entry| entry.label.as_str()).collect();
    let lead = html! {
        p { (counted(runs.len(), "run")) ": " (labels.join(", ")) }
        @for caution in cautions(&entries.iter().map(|entry| (entry.label.as_str(), entry.run)).collect::<Vec<_>>()) { p.caution { (caution) } }
        @if runs.is_empty() { p { "No runs were given." } }
    };
    let sections = if runs.is_empty() {
        Vec::new()
    } else {
        let figure = html! {
            div.scroll role="region" aria-label="Figure" tabindex="0" { (curves(&entries, "curves")) }
            (curve_table(&entries))
        };
        vec![
            section("leaderboard", "Leaderboard", leaderboard(&entries)),
            section("curves", "Score by tolerance", figure),
            section("figures", "Figures", published_figures(&entries)),
            section("costs", "Compile time and memory", costs(&entries)),
            section("tasks", "Tasks", tasks(&entries)),
            section("failures", "Failures", failures(&entries)),
            section("environment", "Environment", environment(&entries)),
        ]
    };
    document(&Document::of_one_file(&title, lead, sections))
}

fn title(runs: &[RunView]) -> String {
    match runs.first() {
        Some(RunView { header, .. }) => format!("PassNet report: {} {}", header.suite, header.suite_version),
        None => "PassNet report".to_owned(),
    }
}
