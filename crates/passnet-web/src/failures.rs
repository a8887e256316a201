use maud::{Markup, html};
use passnet_record::{Status, Verdict};

use crate::{compare::RankedRun, format::status_tag};

/// Messages longer than this fold.
const FOLD_AT: usize = 200;

/// Graphs of one task that failed in the same way.
struct Group<'a> {
    author: &'a str,
    graphs: Vec<&'a str>,
    verdict: &'a Verdict,
}

/// Returns a table of all verdicts other than `correct` without a reason. Consecutive verdicts with the same reason share a row.
pub(crate) fn failures(entries: &[RankedRun<'_>]) -> Markup {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for entry in entries {
        for verdict in entry.run.verdicts.iter().filter(|verdict| verdict.status != Status::Correct) {
            let graph = verdict.id.graph.as_str();
            // Neighbours only, so that rows stay in the order of the suite.
            match groups.last_mut() {
                Some(last) if last.author == entry.label && same(last.verdict, verdict) => last.graphs.push(graph),
                _ => groups.push(Group { author: &entry.label, graphs: vec![graph], verdict }),
            }
        }
    }
    if groups.is_empty() {
        return html! { p { "Every graph of every run is correct." } };
    }
    html! {
        p.about { "Graphs that are not correct, and why." }
        div.scroll role="region" aria-label="Failures" tabindex="0" {
            table.sortable {
                thead {
                    tr {
                        @for name in ["Author", "Task", "Graphs", "Status", "Reason"] { th scope="col" { (name) } }
                    }
                }
                tbody { @for group in groups { (row(&group)) } }
            }
        }
    }
}

/// Returns whether two verdicts differ only in the graph.
fn same(a: &Verdict, b: &Verdict) -> bool {
    a.id.task == b.id.task && a.status == b.status && a.reason == b.reason
}

fn row(group: &Group<'_>) -> Markup {
    let Verdict { id, status, reason, .. } = group.verdict;
    html! {
        tr {
            th.author scope="row" { (group.author) }
            td { (id.task) }
            td.graphs { (group.graphs.join(", ")) }
            td { (status_tag(*status)) }
            @match reason {
                Some(reason) => td.reason data-sort=(reason.code) { code { (reason.code) } " " (message(&reason.message)) },
                None => td.reason { "–" },
            }
        }
    }
}

/// Returns a message, folded after its first line where it is long.
pub(crate) fn message(text: &str) -> Markup {
    let first = text.lines().next().unwrap_or_default();
    if first.len() == text.len() && text.len() <= FOLD_AT {
        return html! { (text) };
    }
    let summary: String = first.chars().take(FOLD_AT).collect();
    html! { details { summary { (summary) " …" } pre { (text) } } }
}
