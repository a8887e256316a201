//! Two runs over one suite: what got better, worse, newly wrong.

use maud::{Markup, html};
use passnet_score::{Change, FALSE_DISCOVERIES, GraphChange, Outcomes, RunComparison, ScoreChange};

use super::context::{Context, Page};
use crate::{
    PageId, RunView,
    compare::cautions,
    draw::plots,
    format::{counted, p_value, ratio, score},
    shell::{scrolling, section},
    standings::path_of,
};

/// Graphs listed for each kind of change; the greatest changes go first.
const MAX_GRAPHS: usize = 100;

/// Kinds that are listed, with headings.
const KINDS: [(Change, &str, &str); 5] = [
    (Change::NewlyWrong, "newly-wrong", "Newly wrong"),
    (Change::Slower, "slower", "Slower"),
    (Change::NewlyRight, "newly-right", "Newly right"),
    (Change::Faster, "faster", "Faster"),
    (Change::NotHandedIn, "not-handed-in", "Not handed in"),
];

/// Compares the verdicts of two runs.
pub fn compare(before: &RunView, after: &RunView) -> RunComparison {
    let outcomes = |run: &RunView| Outcomes::from_verdicts(&run.verdicts, run.header.settings.correct_at);
    RunComparison::new((&outcomes(before), &before.score), (&outcomes(after), &after.score))
}

pub(super) fn page(context: &Context<'_>, before: usize, after: usize) -> Page {
    let site = context.site;
    let (first, second) = (&site.runs[before], &site.runs[after]);
    let comparison = compare(first, second);
    let lead = html! {
        p { "From " (named(context, before)) " to " (named(context, after)) ", over " (counted(comparison.graphs.len(), "common graph")) "." }
        (context.bundle(before)) (context.bundle(after))
        @for caution in cautions(&[before, after].map(|run| (site.entries[run].label.as_str(), &*site.runs[run]))) { p.caution { (caution) } }
    };
    let mut sections = vec![section("summary", "Summary", summary(&comparison))];
    for (change, id, heading) in KINDS {
        sections
            .extend(listed(context, after, &comparison, change, heading).map(|content| section(id, heading, content)));
    }
    let ratios: Vec<f64> = comparison.graphs.iter().filter_map(|graph| graph.ratio.map(|(ratio, _)| ratio)).collect();
    sections.push(section("ratios", "Change of speed", html! {
        p.about { "Speed-up in the second run over speed-up in the first, " (counted(ratios.len(), "graph")) " correct and settled in both runs." }
        (plots::ratios(&ratios, "Distribution of changes of speed", "second run / first run"))
    }));
    let suite = site.entries[after].suite;
    let above = vec![(format!("Suite {}", site.suites[suite].title()), PageId::Suite(suite, 0))];
    let title = format!("{} against {}", site.entries[after].label, site.entries[before].label);
    Page { title, above, lead, sections }
}

/// Returns a link to a run, with the path that it was measured on.
fn named(context: &Context<'_>, run: usize) -> Markup {
    let site = context.site;
    html! { (context.link(PageId::Run(run), &site.entries[run].label)) " (" (path_of(&site.runs[run])) " path)" }
}

fn summary(comparison: &RunComparison) -> Markup {
    let scores = [("AS", Some(comparison.aggregated)), ("Sound score", comparison.sound)];
    let table = html! {
        table {
            thead { tr { th scope="col" { "Score" } @for name in ["Before", "After", "Change", "95 % interval"] { th.number scope="col" { (name) } } th scope="col" { "Verdict" } } }
            tbody { @for (name, change) in scores { @if let Some(change) = change { tr {
                th scope="row" { (name) }
                td.number { (score(change.before)) } td.number { (score(change.after)) } td.number { (signed(change.ratio)) }
                td.number { (change.interval.map_or_else(|| "–".to_owned(), |bounds| format!("{} to {}", signed(bounds.low), signed(bounds.high)))) }
                td { (direction(&change)) }
            } } } }
        }
    };
    html! {
        (scrolling("Scores", table))
        ul {
            @for (change, id, heading) in KINDS {
                @let text = format!("{} {}", comparison.count(change), heading.to_lowercase());
                li { @if comparison.count(change) > 0 { a href=(format!("#{id}")) { (text) } } @else { (text) } }
            }
            li { (comparison.count(Change::Same)) " without a significant change, " (comparison.count(Change::StillWrong)) " wrong in both" }
            @if comparison.only_before + comparison.only_after > 0 {
                li { (counted(comparison.only_before, "graph")) " in the first run only, " (comparison.only_after) " in the second only" }
            }
        }
        p.about {
            "Faster and slower are those whose change is significant with at most " (FALSE_DISCOVERIES * 100.0)
            " % false discoveries among them (Benjamini and Hochberg). Intervals of scores are by resampling tasks, the same in both runs."
        }
    }
}

/// Returns a ratio as a change in percent.
fn signed(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0)).replace('-', "−")
}

fn direction(change: &ScoreChange) -> &'static str {
    match change.interval {
        Some(bounds) if bounds.low > 1.0 => "better",
        Some(bounds) if bounds.high < 1.0 => "worse",
        Some(_) => "no significant change",
        None => "",
    }
}

/// Returns the graphs with a change; `None` if there are none.
fn listed(
    context: &Context<'_>,
    after: usize,
    comparison: &RunComparison,
    change: Change,
    heading: &str,
) -> Option<Markup> {
    let mut graphs: Vec<&GraphChange> = comparison.graphs.iter().filter(|graph| graph.change == change).collect();
    if graphs.is_empty() {
        return None;
    }
    let size = |graph: &GraphChange| graph.ratio.map_or(0.0, |(ratio, _)| ratio.ln().abs());
    graphs.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let table = html! {
        table.sortable {
            thead { tr { th scope="col" { "Graph" } th.number scope="col" { "Change" } th.number scope="col" { "95 % interval" } th.number scope="col" { "p" } } }
            tbody { @for graph in graphs.iter().take(MAX_GRAPHS) { tr {
                th scope="row" { (where_it_is(context, after, graph)) }
                @match graph.ratio {
                    Some((change, bounds)) => {
                        td.number data-sort=(change) { (ratio(change)) }
                        td.number data-sort=(bounds.low) { (format!("[{:.2}, {:.2}]", bounds.low, bounds.high)) }
                    },
                    None => { td.number { "–" } td.number { "–" } },
                }
                td.number data-sort=[graph.p_value] { (graph.p_value.map_or_else(|| "–".to_owned(), p_value)) }
            } } }
        }
    };
    Some(html! {
        (scrolling(&format!("Graphs: {heading}"), table))
        @if graphs.len() > MAX_GRAPHS { p.about { (counted(graphs.len() - MAX_GRAPHS, "further graph")) " with smaller changes." } }
    })
}

fn where_it_is(context: &Context<'_>, run: usize, graph: &GraphChange) -> Markup {
    let site = context.site;
    let name = format!("{}/{}", graph.id.task, graph.id.graph);
    match site.suites[site.entries[run].suite].tasks.iter().position(|task| task.id == graph.id.task) {
        // A graph that only the other run has does not have a page here.
        Some(task) if site.has_task(run, task) => {
            context.link(PageId::Evaluation(run, task, site.part_of(run, task, &graph.id.graph)), &name)
        }
        _ => html! { (name) },
    }
}
