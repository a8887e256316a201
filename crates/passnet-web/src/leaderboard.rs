use std::collections::BTreeMap;

use maud::{Markup, html};
use passnet_record::Status;

use crate::{
    compare::RankedRun,
    format::{interval, percent, ratio, score},
    standings::path_of,
};

/// One row per run, best first.
pub(crate) fn leaderboard(entries: &[RankedRun<'_>]) -> Markup {
    html! {
        p.about {
            "Ranked by sound score: 1 is the speed of eager mode, more is faster than both eager and the same path without rewriting, "
            "and wrong graphs weigh it down. AS is the published score."
        }
        div.scroll role="region" aria-label="Leaderboard" tabindex="0" {
            table.sortable {
                thead {
                    tr {
                        th scope="col" { "Author" }
                        th.number scope="col" { "Sound score" }
                        th.number scope="col" { "AS" }
                        th.number scope="col" { "G-mean" }
                        th.number scope="col" { "Correct" }
                        th.number scope="col" { "fast_1" }
                        th.number scope="col" { "Graphs" }
                        th scope="col" { "Path" }
                        th scope="col" { "Not correct" }
                    }
                }
                tbody { @for entry in entries { (row(entry)) } }
            }
        }
    }
}

fn row(entry: &RankedRun<'_>) -> Markup {
    let report = &entry.run.score;
    let tally = &report.tally;
    let failed: usize = tally.failures.values().sum();
    html! {
        tr class=[entry.has_no_passes().then_some("no-passes")] {
            th.author scope="row" {
                (entry.label)
                @if entry.has_no_passes() { " " span.tag { "no passes" } }
            }
            @match &report.sound {
                Some(sound) => td.number data-sort=(sound.score) {
                    strong { (score(sound.score)) }
                    @if let Some(bounds) = sound.interval { " " small { (interval(bounds)) } }
                },
                None => td.number { span title="the measurements have no confidence intervals" { "–" } },
            }
            td.number data-sort=(report.aggregated) { (score(report.aggregated)) }
            @match tally.geomean_speedup {
                Some(mean) => td.number data-sort=(mean) { (ratio(mean)) },
                None => td.number { span title="no correct graph was timed" { "–" } },
            }
            td.number data-sort=(tally.correct_percent()) { (percent(tally.correct_percent())) }
            td.number data-sort=(tally.fast_1_percent()) { (percent(tally.fast_1_percent())) }
            td.number data-sort=(tally.graphs) { (tally.graphs) }
            td { (path_of(entry.run)) }
            td data-sort=(failed) { (remarks(&tally.failures, tally.unstable, tally.untimed, report.reference_errors)) }
        }
    }
}

/// `3 accuracy, 1 no_match; 2 untimed`, or a dash.
fn remarks(failures: &BTreeMap<Status, usize>, unstable: usize, untimed: usize, references: usize) -> String {
    let failures: Vec<String> = failures.iter().map(|(failure, count)| format!("{count} {}", failure.name())).collect();
    let notes: Vec<String> =
        [(unstable, "unstable"), (untimed, "untimed"), (references, "left out (reference failed)")]
            .into_iter()
            .filter(|&(count, _)| count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
    let parts: Vec<String> =
        [failures.join(", "), notes.join(", ")].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join("; ") }
}
