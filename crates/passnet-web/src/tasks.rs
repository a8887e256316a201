use std::collections::BTreeMap;

use maud::{Markup, html};
use passnet_record::{Status, Verdict};
use passnet_score::{Tally, TaskScore};

use crate::{
    compare::RankedRun,
    format::{counted, ratio, status_name},
};

/// Bounds between the steps of the colour scale, as speed-ups; symmetric in the logarithm.
const STEPS: [f64; 6] = [0.5, 0.8, 1.0 / 1.02, 1.02, 1.25, 2.0];
/// Classes of the steps, slow to fast.
const CLASSES: [&str; 7] = ["slow3", "slow2", "slow1", "even", "fast1", "fast2", "fast3"];

/// One row per task, one column per run.
pub(crate) fn tasks(entries: &[RankedRun<'_>]) -> Markup {
    let rows = task_names(entries);
    let scores: Vec<BTreeMap<&str, &TaskScore>> = entries
        .iter()
        .map(|entry| entry.run.score.tasks.iter().map(|score| (score.task.as_str(), score)).collect())
        .collect();
    html! {
        p.about {
            "Geometric mean speed-up against eager over the correct graphs of each task (" (counted(rows.len(), "task"))
            "), and how many of its graphs are correct. Coloured where all are."
        }
        (legend())
        div.scroll role="region" aria-label="Speed-up by task" tabindex="0" {
            table.sortable {
                thead {
                    tr {
                        th scope="col" { "Task" }
                        @for entry in entries { th.number.author scope="col" { (entry.label) } }
                    }
                }
                tbody {
                    @for task in rows {
                        tr {
                            th scope="row" { (task) }
                            @for scores in &scores { (cell(scores.get(task).copied())) }
                        }
                    }
                }
            }
        }
    }
}

/// All tasks of all runs, in the order of the first run that has them.
fn task_names<'a>(entries: &[RankedRun<'a>]) -> Vec<&'a str> {
    let mut in_order: Vec<&RankedRun<'a>> = entries.iter().collect();
    // In the given order and not by rank, so that rows do not move when scores change.
    in_order.sort_by_key(|entry| entry.series);
    let mut names = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for score in in_order.iter().flat_map(|entry| &entry.run.score.tasks) {
        if seen.insert(score.task.as_str()) {
            names.push(score.task.as_str());
        }
    }
    names
}

/// Returns the speed-up of a task and how much of it is correct.
pub(crate) fn cell(score: Option<&TaskScore>) -> Markup {
    let Some(TaskScore { tally, .. }) = score else {
        return html! { td.number { span title="no verdict" { "–" } } };
    };
    let all_correct = tally.correct == tally.graphs;
    let share = html! { small class=[(!all_correct).then_some("wrong")] { (tally.correct) "/" (tally.graphs) } };
    match tally.geomean_speedup {
        // A task that is partly wrong must not look like a success.
        Some(mean) => html! {
            td.number.(if all_correct { step(mean) } else { "partial" }) data-sort=(mean) { (ratio(mean)) " " (share) }
        },
        None => html! { td.number data-sort="–" { (without_speed(tally)) " " (share) } },
    }
}

/// Returns a compact cell for large tables: the number of correct graphs only if not all are.
pub(crate) fn brief_cell(score: Option<&TaskScore>) -> Markup {
    let Some(TaskScore { tally, .. }) = score else { return html! { td { "–" } } };
    let all_correct = tally.correct == tally.graphs;
    html! {
        @match tally.geomean_speedup {
            Some(mean) if all_correct => td.(step(mean)) { (format!("{mean:.2}")) },
            Some(mean) => td.partial data-sort=(format!("{mean:.3}")) { (format!("{mean:.2} ")) small.wrong { (tally.correct) "/" (tally.graphs) } },
            None => td data-sort="–" { (without_speed(tally)) " " (tally.correct) "/" (tally.graphs) },
        }
    }
}

/// Returns the speed-up of one graph, or its status.
pub(crate) fn graph_cell(verdict: Option<&Verdict>) -> Markup {
    let Some(verdict) = verdict else { return html! { td { "–" } } };
    let speedup = verdict.scored_timing().map(|timing| timing.speedup);
    html! {
        @match (verdict.status, speedup) {
            (Status::Correct, Some(speedup)) => td.(step(speedup.ratio)) data-sort=(format!("{:.3}", speedup.ratio)) {
                @if speedup.low <= 1.0 && 1.0 <= speedup.high { "~" } (format!("{:.2}", speedup.ratio))
            },
            (Status::Correct, None) => td data-sort="–" { "untimed" },
            (status, _) => td data-sort="–" { @if status == Status::NoMatch { small { (status_name(status)) } } @else { small.wrong { (status_name(status)) } } },
        }
    }
}

/// Describes a task without a correct, timed graph.
fn without_speed(tally: &Tally) -> String {
    let commonest = tally.failures.iter().max_by_key(|&(_, count)| count);
    match commonest {
        _ if tally.correct > 0 => "untimed".to_owned(),
        Some((failure, _)) => status_name(*failure).to_owned(),
        None => "–".to_owned(),
    }
}

/// Returns the colour class of a speed-up.
pub(crate) fn step(speedup: f64) -> &'static str {
    let position = STEPS.iter().filter(|&&bound| speedup >= bound).count();
    CLASSES[position]
}

/// Legend of the colours.
pub(crate) fn legend() -> Markup {
    let labels = ["< 0.5×", "< 0.8×", "slower", "within 2%", "faster", "≥ 1.25×", "≥ 2×"];
    html! {
        ul.scale aria-label="Colour scale" {
            @for (class, label) in CLASSES.iter().zip(labels) { li.(class) { (label) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_symmetric_in_the_logarithm() {
        let speedups = [0.4, 0.7, 0.9, 1.0, 1.1, 1.5, 3.0];
        assert_eq!(speedups.map(step), CLASSES);
        for (&slow, &fast) in STEPS.iter().zip(STEPS.iter().rev()) {
            assert!((slow * fast - 1.0).abs() < 1e-12);
        }
    }
}
