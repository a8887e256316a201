//! Runs that are being written: progress, queue, devices and failures. Only a server has this page.

use maud::{Markup, html};
use passnet_record::{
    RunHeader,
    live::{LiveFleet, LiveState},
};

use super::context::{Context, Page};
use crate::{
    LiveRun, PageId,
    format::{counted, duration, percent, status_tag},
    shell::{scrolling, section},
    site::Site,
    standings::device_of,
};

/// Address of the data of the page, from the page.
const DATA: &str = "live.json";

pub(super) fn page(context: &Context<'_>, runs: &[LiveRun]) -> Page {
    let lead = html! {
        p { "Runs of this folder that are being written, and runs that were interrupted. The page updates itself every two seconds." }
    };
    let content = html! {
        p.caution.remark role="status" data-live-remark {}
        div data-live=(DATA) { (articles(context.site, runs)) }
        noscript { p.caution { "Scripts are off: reload the page to update it." } }
    };
    Page { title: "Live runs".to_owned(), above: Vec::new(), lead, sections: vec![section("runs", "Runs", content)] }
}

impl Site {
    /// Returns the content of the live page as HTML, for a page that is open in a browser.
    pub fn live_content(&self, runs: &[LiveRun]) -> String {
        articles(self, runs).into_string()
    }
}

fn articles(site: &Site, runs: &[LiveRun]) -> Markup {
    html! {
        @if runs.is_empty() {
            p { "No run is being written. A run appears here when its first evaluation begins; " code { "passnet bench run" } " starts one." }
        }
        @for run in runs { (article(site, run)) }
    }
}

fn article(site: &Site, run: &LiveRun) -> Markup {
    let header = &run.header;
    let share = 100.0 * run.done as f64 / header.graphs.max(1) as f64;
    html! {
        article.live {
            h3 { (title(site, run)) " " span.tag { (run.state.name()) } }
            p.about { (header.author) " over " (header.suite) " " (header.suite_version) " on " (device_of(header)) ", started " (header.started) }
            p.progress {
                progress max=(header.graphs.max(1)) value=(run.done) aria-label=(format!("Progress of {}", header.run)) {}
                " " (run.done) " of " (counted(header.graphs, "graph")) " (" (percent(share)) ")"
            }
            @if run.state == LiveState::Interrupted {
                p.caution { "Interrupted: no process writes this run. Its verdicts are kept; run the same command again to continue." }
            }
            dl.facts { @for (name, value) in facts(run) { div { dt { (name) } dd { (value) } } } }
            (stations(run))
            (failures(run))
        }
    }
}

/// The name of the run, as a link where it has a page, i.e. a verdict.
fn title(site: &Site, run: &LiveRun) -> Markup {
    // Users choose the names of runs, so names may repeat. Name and start time together are unique.
    let is_it = |shown: &RunHeader| shown.run == run.header.run && shown.started == run.header.started;
    match site.runs.iter().position(|shown| is_it(&shown.header)) {
        Some(index) => html! { a href=(PageId::Run(index).path(site)) { (run.header.run) } },
        None => html! { (run.header.run) },
    }
}

fn facts(run: &LiveRun) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if run.state == LiveState::Running {
        let unknown = || "not known yet".to_owned();
        facts.push(("Rate", run.rate.map_or_else(unknown, speed)));
        facts.push(("Time left", run.left_s().map_or_else(unknown, |left| format!("about {}", duration(left * 1e9)))));
    }
    facts.push(("Last verdict", ago(run.quiet_s)));
    facts.push(("Correct", run.correct.to_string()));
    facts.push(("Failures", run.failures.to_string()));
    facts.push(("Without a verdict", counted(run.left(), "graph")));
    if let Some(fleet) = run.fleet.as_ref().filter(|_| run.state == LiveState::Running) {
        let &LiveFleet { admitted, starting, aside, places, leases, waiting, .. } = fleet;
        facts.push(("Stations", format!("{admitted} work, {starting} start, {aside} set aside")));
        facts.push(("Devices in use", format!("{leases} of {}", counted(places, "place"))));
        facts.push(("Queue", counted(waiting, "task")));
    }
    facts
}

/// Verdicts per second in a unit with digits before the point.
fn speed(rate: f64) -> String {
    match 60.0 * rate {
        minute if minute >= 1.0 => format!("{minute:.1} graphs per minute"),
        minute => format!("{:.1} graphs per hour", 60.0 * minute),
    }
}

/// Returns a past time as text, rounded so that the page of an idle run does not change with each answer.
fn ago(seconds: f64) -> String {
    match seconds {
        s if s < 5.0 => "just now".to_owned(),
        s if s < 60.0 => format!("{:.0} s ago", (s / 5.0).floor() * 5.0),
        s if s < 7200.0 => format!("{:.0} min ago", (s / 60.0).floor()),
        s => format!("{:.0} h ago", (s / 3600.0).floor()),
    }
}

/// Returns a list of the fleet's stations: which ones work, and why the others do not.
fn stations(run: &LiveRun) -> Markup {
    let running = run.fleet.as_ref().filter(|_| run.state == LiveState::Running);
    let Some(fleet) = running.filter(|fleet| !fleet.stations.is_empty()) else { return html! {} };
    let has_reasons = fleet.stations.iter().any(|station| !station.reason.is_empty());
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "Node" } th scope="col" { "Device" } th scope="col" { "State" } th.number scope="col" { "Places in use" }
                th.number scope="col" { "Tasks done" } @if has_reasons { th scope="col" { "Reason" } }
            } }
            tbody { @for station in &fleet.stations { tr {
                th scope="row" { (station.node) } td { (station.device) } td { (station.state) }
                td.number { (station.leases) " of " (station.places) } td.number { (station.finished) }
                @if has_reasons { td { (station.reason) } }
            } } }
        }
    };
    scrolling(&format!("Stations of {}", run.header.run), table)
}

fn failures(run: &LiveRun) -> Markup {
    if run.last_failures.is_empty() {
        return html! { p.about { "No failures so far." } };
    }
    let table = html! {
        table {
            thead { tr { th scope="col" { "Task" } th scope="col" { "Graph" } th scope="col" { "Status" } th scope="col" { "Code" } } }
            tbody { @for failure in &run.last_failures { tr {
                th scope="row" { (failure.id.task) } td { (failure.id.graph) } td { (status_tag(failure.status)) } td { code { (failure.code) } }
            } } }
        }
    };
    html! {
        @if run.last_failures.len() < run.failures {
            p.about { "The last " (run.last_failures.len()) " of " (counted(run.failures, "failure")) ", newest first:" }
        }
        (scrolling(&format!("Failures of {}", run.header.run), table))
    }
}
