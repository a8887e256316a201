//! The leaderboard: every run of every suite.

use maud::{Markup, html};

use super::{Context, Page, published::published};
use crate::{
    Origin, Place,
    format::{duration, interval, percent, plural, ratio, score},
    shell::{scrolling, section},
};

pub(super) fn page(context: &Context<'_>) -> Page {
    let site = context.site;
    let mut sections = vec![section("leaderboard", "Leaderboard", leaderboard(context))];
    sections.push(section("suites", "Suites", suites(context)));
    sections.push(section("published", "Published figures", published()));
    let count = site.runs.len();
    let lead = html! {
        p { (count) " run" (plural(count)) " over " (site.suites.len()) " suite" (plural(site.suites.len())) "."
            @if site.dataset.is_some() { " " (context.link(Place::Dataset, "Dataset")) }
            @if !site.trajectories.is_empty() { " " (context.link(Place::Trajectories, "Trajectories")) }
        }
    };
    Page { title: "PassNet leaderboard".to_owned(), above: Vec::new(), lead, sections }
}

/// Choices of a filter, sorted, each once.
fn choices<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut values: Vec<&str> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn filter(name: &str, choices: &[&str]) -> Markup {
    html! {
        label { (name) " "
            select data-filter=(name.to_lowercase()) {
                option value="" { "all" }
                @for choice in choices { option value=(choice) { (choice) } }
            }
        }
    }
}

fn leaderboard(context: &Context<'_>) -> Markup {
    let site = context.site;
    if site.runs.is_empty() {
        return html! { p { "There are no runs yet. " code { "passnet bench run SUITE --author NAME" } " makes one." } };
    }
    let devices: Vec<String> = (0..site.runs.len()).map(|run| device(context, run)).collect();
    let titles: Vec<String> = site.suites.iter().map(|suite| suite.title()).collect();
    let modes = choices(site.runs.iter().map(|run| run.header.settings.mode.as_str()));
    let mut order: Vec<usize> = site.suites.iter().flat_map(|suite| suite.runs.iter().copied()).collect();
    if site.suites.len() > 1 {
        // Runs over different suites have no common rank; they stand suite by suite.
        order.sort_by_key(|&run| site.entries[run].suite);
    }
    let table = html! {
        table.sortable.filtered id="board" {
            thead {
                tr {
                    th scope="col" { "Author" }
                    th scope="col" { "Suite" }
                    th scope="col" { "Device" }
                    th.number scope="col" { "Sound score" }
                    @for name in ["AS", "G-mean", "Correct", "fast_1", "Graphs", "Cost"] { th.number scope="col" { (name) } }
                }
            }
            tbody { @for run in order { (row(context, run, &devices[run])) } }
        }
    };
    html! {
        p.about {
            "Ranked by sound score: 1 is doing nothing, more is faster than both eager and the same path without rewriting, and wrong "
            "graphs weigh it down; in brackets its 95 % interval over tasks. AS is the published score. Cost is the wall time of all "
            "evaluations of the run."
        }
        div.filters data-for="board" role="search" {
            label { "Find " input type="search" data-find placeholder="author, run …" aria-keyshortcuts="/"; }
            (filter("Device", &choices(devices.iter().map(String::as_str))))
            (filter("Suite", &choices(titles.iter().map(String::as_str))))
            (filter("Mode", &modes))
            label { input type="checkbox" data-hide="baseline"; " hide baselines" }
            output data-count {}
        }
        (scrolling("Leaderboard", table))
    }
}

/// The accelerator, or the processor where there is none.
fn device(context: &Context<'_>, run: usize) -> String {
    let header = &context.site.runs[run].header;
    let name = if header.fingerprint.device.is_empty() { &header.fingerprint.cpu } else { &header.fingerprint.device };
    if name.is_empty() { header.settings.device.clone() } else { name.clone() }
}

fn row(context: &Context<'_>, index: usize, device: &str) -> Markup {
    let (run, entry) = (&context.site.runs[index], &context.site.entries[index]);
    let suite = &context.site.suites[entry.suite];
    let (report, tally) = (&run.score, &run.score.tally);
    let cost = run.cost_ns();
    html! {
        tr.baseline[run.is_baseline()] data-device=(device) data-suite=(suite.title()) data-mode=(run.header.settings.mode) {
            th.author scope="row" data-sort=(entry.label) {
                (context.link(Place::Run(index), &entry.label))
                @if run.is_baseline() { " " span.tag { "baseline" } }
                @if run.header.settings.mode != "sound" { " " span.tag { (run.header.settings.mode) " mode" } }
                @if !run.is_complete() { " " span.tag { "unfinished" } }
                @if let Origin::Bundle { id } = &run.origin { " " span.tag title=(format!("verified bundle {id}")) { "bundle" } }
            }
            td { (context.link(Place::Suite(entry.suite, 0), &suite.title())) }
            td { (device) }
            @match &report.sound {
                Some(sound) => td.number data-sort=(sound.score) {
                    strong { (score(sound.score)) }
                    @if let Some(bounds) = sound.interval { " " small { (interval(bounds)) } }
                },
                None => td.number { span title="the measurements have no confidence intervals" { "–" } },
            }
            td.number { (score(report.aggregated)) }
            @match tally.geomean_speedup {
                Some(mean) => td.number data-sort=(mean) { (ratio(mean)) },
                None => td.number { span title="no correct graph was timed" { "–" } },
            }
            td.number data-sort=(tally.correct_percent()) { (percent(tally.correct_percent())) }
            td.number data-sort=(tally.fast_1_percent()) { (percent(tally.fast_1_percent())) }
            td.number data-sort=(run.verdicts.len()) {
                (run.verdicts.len()) @if !run.is_complete() { "/" (run.header.graphs) }
            }
            td.number data-sort=(cost) { (duration(cost as f64)) }
        }
    }
}

fn suites(context: &Context<'_>) -> Markup {
    html! {
        ul {
            @for (index, suite) in context.site.suites.iter().enumerate() {
                li {
                    (context.link(Place::Suite(index, 0), &suite.title())) ": "
                    (suite.tasks.len()) " task" (plural(suite.tasks.len())) ", "
                    (suite.tasks.iter().map(|task| task.graphs.len()).sum::<usize>()) " graphs, "
                    (suite.runs.len()) " run" (plural(suite.runs.len()))
                }
            }
        }
    }
}
