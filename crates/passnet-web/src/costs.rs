//! Costs of runs for a user: compile time, memory, and the number of calls after which compilation has paid off.

use maud::{Markup, html};
use passnet_record::{Status, Verdict};
use passnet_score::median;

use crate::{
    compare::RankedRun,
    draw::cloud::{CloudMark, Series, cloud},
    format::{breakable, duration, ratio},
    standings::path_of,
};

/// Returns a table with one row per run: medians over the graphs that were timed.
pub(crate) fn costs(entries: &[RankedRun<'_>]) -> Markup {
    let clouds: Vec<Series<'_>> = entries.iter().map(series).collect();
    if entries.iter().all(|entry| entry.run.verdicts.iter().all(|verdict| verdict.evidence.usage.is_none())) {
        return html! { p.about { "These runs did not record time and memory." } };
    }
    html! {
        p.about {
            "Medians over graphs. Compile time is loading and the first call less a usual call. Memory is the peak of the process on a "
            "CPU, and of tensors during timed calls on a GPU, as a multiple of eager. After so many calls, compiling has paid off; graphs "
            "that are not faster never get there. Workers report these figures themselves."
        }
        figure {
            figcaption { "Speed-up against compile time, one mark per graph: up is faster, left is sooner" }
            (cloud(&clouds, "Speed-up against compile time"))
        }
        div.scroll role="region" aria-label="Compile time and memory" tabindex="0" {
            table.sortable.costs {
                thead { tr {
                    th scope="col" { "Author" }
                    th scope="col" { "Path" }
                    th scope="col" { "Weights" }
                    th.number scope="col" { "Compile time" }
                    th.number scope="col" { "Longest" }
                    th.number scope="col" { "Steady call" }
                    th.number scope="col" { "Eager call" }
                    th.number scope="col" { "Memory" }
                    th.number scope="col" { "Pays off after" }
                    th.number scope="col" { "Never" }
                } }
                tbody { @for entry in entries { (row(entry)) } }
            }
        }
    }
}

/// Returns the correct graphs of a run that were timed, with their compile times.
fn series<'a>(entry: &'a RankedRun<'_>) -> Series<'a> {
    let mark = |verdict: &'a Verdict| {
        Some(CloudMark {
            compile_ns: verdict.compile_ns()?,
            speedup: verdict.scored_timing()?.speedup.ratio,
            name: &verdict.id.task,
        })
    };
    let correct = entry.run.verdicts.iter().filter(|verdict| verdict.status == Status::Correct);
    Series { label: &entry.label, series: entry.series, marks: correct.filter_map(mark).collect() }
}

fn row(entry: &RankedRun<'_>) -> Markup {
    let timed = || entry.run.verdicts.iter().filter(|verdict| verdict.status == Status::Correct);
    let mut compile: Vec<f64> = timed().filter_map(Verdict::compile_ns).collect();
    let mut steady: Vec<f64> =
        timed().filter_map(|verdict| Some(verdict.scored_timing()?.candidate.median_ns)).collect();
    let mut eager: Vec<f64> = timed().filter_map(|verdict| Some(verdict.scored_timing()?.base.median_ns)).collect();
    let longest = compile.iter().copied().reduce(f64::max);
    let paid: Vec<Option<f64>> = timed().filter_map(break_even).collect();
    // Counted separately: the median of the calls would otherwise include only the graphs that
    // gained.
    let never = paid.iter().filter(|calls| calls.is_none()).count();
    let cell = |value: Option<f64>, show: fn(f64) -> String| match value {
        Some(value) => html! { td.number data-sort=(value) { (show(value)) } },
        None => html! { td.number data-sort="–" { "–" } },
    };
    html! {
        tr {
            th.author scope="row" { (breakable(&entry.label)) }
            td { (path_of(entry.run)) }
            td { (entry.run.header.settings.weights) }
            (cell(median(&mut compile), duration))
            (cell(longest, duration))
            (cell(median(&mut steady), duration))
            (cell(median(&mut eager), duration))
            (cell(median(&mut timed().filter_map(memory).collect::<Vec<_>>()), ratio))
            (cell(median(&mut paid.iter().flatten().copied().collect::<Vec<_>>()), |calls| format!("{calls:.0} calls")))
            td.number data-sort=(never) { (never) }
        }
    }
}

/// Returns the peak memory of the candidate divided by that of eager mode.
fn memory(verdict: &Verdict) -> Option<f64> {
    let usage = verdict.evidence.usage?;
    let of = |eager: u64, candidate: u64| (eager > 0).then(|| candidate as f64 / eager as f64);
    // Device memory first: on a GPU it is the limit, and the memory of the process is mostly that of PyTorch.
    of(usage.eager.device_bytes, usage.candidate.device_bytes)
        .or_else(|| of(usage.eager.host_bytes, usage.candidate.host_bytes))
}

/// Returns the number of calls after which compilation has paid off: `Some(None)` if it never does, `None` if it is not known.
fn break_even(verdict: &Verdict) -> Option<Option<f64>> {
    let (compile, timing) = (verdict.compile_ns()?, verdict.scored_timing()?);
    let gain = timing.base.median_ns - timing.candidate.median_ns;
    // A whole call cannot pay off in part.
    Some((gain > 0.0).then(|| (compile / gain).ceil()))
}
