//! All tasks of a suite, with every run's result.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    PageId, RunView,
    compare::{RankedRun, cautions},
    curves::{curve_table, curves},
    families::{Family, FamilyResult, families},
    format::{breakable, counted},
    shell::{scrolling, section},
    tasks::{brief_cell, legend, step},
};

/// Curves that one drawing can hold.
const MAX_CURVES: usize = 12;

pub(super) fn page(context: &Context<'_>, index: usize, part: usize) -> Page {
    let suite = &context.site.suites[index];
    let entries: Vec<RankedRun<'_>> = suite.runs.iter().take(MAX_CURVES).map(|&run| context.entry(run)).collect();
    let graphs: usize = suite.tasks.iter().map(|task| task.graphs.len()).sum();
    let lead = html! {
        p { (counted(suite.tasks.len(), "task")) ", " (counted(graphs, "graph")) ", " (counted(suite.runs.len(), "run")) ". "
            (context.link(PageId::Figures(index), "Figures")) ": S(t), ES(t), speed-ups, compile time and memory." }
        (cautioned(context, index))
    };
    let mut sections = Vec::new();
    if part == 0 {
        sections.push(section("boards", "Boards", boards(context, index)));
        sections.push(section("curves", "Score by tolerance", html! {
            @if suite.runs.len() > MAX_CURVES { p.about { "The best " (MAX_CURVES) " of " (suite.runs.len()) " runs." } }
            (scrolling("Figure", curves(&entries, "curves")))
            (curve_table(&entries))
        }));
        sections.push(section("families", "By family", by_family(context, index)));
    }
    sections.push(section("tasks", "Tasks", tasks(context, index, part)));
    if part == 0 && suite.runs.len() > 1 {
        sections.push(section("pairs", "Run against run", pairs(context, index)));
    }
    Page { title: format!("Suite {}", suite.title()), above: Vec::new(), lead, sections }
}

/// Returns what makes the runs of a suite hard to compare.
pub(super) fn cautioned(context: &Context<'_>, index: usize) -> Markup {
    let site = context.site;
    let named = |&run: &usize| (site.entries[run].label.as_str(), &*site.runs[run]);
    let runs: Vec<(&str, &RunView)> = site.suites[index].runs.iter().map(named).collect();
    html! { @for caution in cautions(&runs) { p.caution { (caution) } } }
}

/// Returns the list of the boards of a suite.
fn boards(context: &Context<'_>, index: usize) -> Markup {
    let of_suite = context.site.boards.iter().enumerate().filter(|(_, board)| board.conditions.suite == index);
    html! {
        ul {
            @for (at, board) in of_suite {
                li { (context.link(PageId::Board(at), &board.conditions.device)) ", " (board.conditions.in_words()) ": "
                    (counted(board.current().count(), "author")) ", " (counted(board.rows.len(), "run")) }
            }
        }
    }
}

/// Table of speed-ups by family of graphs, one column per run.
fn by_family(context: &Context<'_>, index: usize) -> Markup {
    let shown: Vec<usize> = context.site.suites[index].runs.iter().copied().take(MAX_CURVES).collect();
    let runs: Vec<&RunView> = shown.iter().map(|&run| &*context.site.runs[run]).collect();
    let families = families(&runs, context.site.traits_of(index));
    if families.is_empty() {
        return html! { p { "No graph was timed." } };
    }
    let table = html! {
        table.matrix {
            thead { tr {
                th scope="col" { "Family" } th.number scope="col" { "Graphs" }
                @for &run in &shown { th.number.author scope="col" { (breakable(&context.site.entries[run].label)) } }
            } }
            tbody { @for (at, family) in families.iter().enumerate() {
                @if at == 0 || families[at - 1].property != family.property {
                    tr.group { th scope="colgroup" colspan=(2 + shown.len()) { (family.property) } }
                }
                (family_row(family))
            } }
        }
    };
    html! {
        p.about {
            "Geometric mean speed-up against eager over correct graphs, with the number of correct graphs where not all are. The best run "
            "of each family is bold."
        }
        (scrolling("Speed-up by family", table))
    }
}

fn family_row(family: &Family) -> Markup {
    let best = family.results.iter().filter_map(|result| result.speedup).fold(f64::NEG_INFINITY, f64::max);
    html! {
        tr {
            th scope="row" { (family.value) }
            td { (family.graphs) }
            @for FamilyResult { speedup, correct, graphs, .. } in &family.results {
                @match speedup {
                    Some(mean) => td.(step(*mean)) {
                        @if *mean >= best { strong { (format!("{mean:.2}")) } } @else { (format!("{mean:.2}")) }
                        @if correct < graphs { " " small.wrong { (correct) "/" (graphs) } }
                    },
                    None => td { "–" },
                }
            }
        }
    }
}

fn tasks(context: &Context<'_>, index: usize, part: usize) -> Markup {
    let suite = &context.site.suites[index];
    let per_page = suite.tasks_per_page();
    let shown = (part * per_page)..((part + 1) * per_page).min(suite.tasks.len());
    let table = html! {
        table.sortable.filtered.matrix id="matrix" {
            thead {
                tr {
                    th scope="col" { "Task" }
                    @for &run in &suite.runs { th.number.author scope="col" { (breakable(&context.site.entries[run].label)) } }
                }
            }
            tbody {
                @for task in shown {
                    tr {
                        th scope="row" { (context.link(PageId::Task(index, task), &suite.tasks[task].id)) }
                        @for &run in &suite.runs { (brief_cell(context.site.task_score(run, task))) }
                    }
                }
            }
        }
    };
    html! {
        p.about {
            "Geometric mean speed-up against eager over the correct graphs of each task, with the number of correct graphs where not all "
            "are. Coloured where all are."
        }
        (legend())
        div.filters data-for="matrix" role="search" {
            label { "Find " input type="search" data-find placeholder="task" aria-keyshortcuts="/"; }
            output data-count {}
        }
        (scrolling("Speed-up by task", table))
        (context.parts(context.site.suite_parts(index), part, |part| PageId::Suite(index, part)))
    }
}

fn pairs(context: &Context<'_>, index: usize) -> Markup {
    let runs = &context.site.suites[index].runs;
    html! {
        p.about { "Each run against the runs that rank below it: better, worse, newly wrong." }
        ul.pairs {
            // Each pair once: the page of the reverse pair does not exist.
            @for (rank, &after) in runs.iter().enumerate().take(runs.len() - 1) {
                li {
                    (context.site.entries[after].label) " against "
                    @for (position, &before) in runs[rank + 1..].iter().enumerate() {
                        @if position > 0 { ", " }
                        (context.link(PageId::Compare(before, after), &context.site.entries[before].label))
                    }
                }
            }
        }
    }
}
