use std::collections::BTreeSet;

use maud::{Markup, html};
use passnet_record::RunHeader;

use crate::{RunView, compare::RankedRun, format::bytes};

/// Machine, versions and settings of every run; rows in which runs differ are marked.
pub(crate) fn environment(entries: &[RankedRun<'_>]) -> Markup {
    html! {
        p.about { "Machine, versions and settings of the runs. Rows in which they differ are marked." }
        div.scroll role="region" aria-label="Environment" tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Fact" }
                        @for entry in entries { th.author scope="col" { (entry.label) } }
                    }
                }
                @for (group, rows) in groups(entries) {
                    tbody {
                        tr.group { th scope="rowgroup" colspan=(entries.len() + 1) { (group) } }
                        @for (name, values) in rows {
                            @let differs = group != RUN && values.windows(2).any(|pair| pair[0] != pair[1]);
                            tr class=[differs.then_some("differs")] {
                                th scope="row" { (name) }
                                @for value in values { td { (value) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The group of facts in which runs always differ.
const RUN: &str = "Run";

type FactRow = (String, Vec<String>);

/// Builds rows of facts: one value per run.
struct FactRows<'a>(&'a [RankedRun<'a>]);

impl FactRows<'_> {
    fn of_run(&self, name: &str, value: &dyn Fn(&RunView) -> String) -> FactRow {
        (name.to_owned(), self.0.iter().map(|entry| or_dash(value(entry.run))).collect())
    }

    fn of_header(&self, name: &str, value: &dyn Fn(&RunHeader) -> String) -> FactRow {
        self.of_run(name, &|run| value(&run.header))
    }
}

fn groups(entries: &[RankedRun<'_>]) -> [(&'static str, Vec<FactRow>); 4] {
    let rows = FactRows(entries);
    let header = |name: &str, value: &dyn Fn(&RunHeader) -> String| rows.of_header(name, value);
    let versions: BTreeSet<&String> =
        entries.iter().flat_map(|entry| entry.run.header.fingerprint.versions.keys()).collect();
    let version =
        |name: &String| header(name, &|header| header.fingerprint.versions.get(name).cloned().unwrap_or_default());
    let run = vec![
        header("run", &|header| header.run.clone()),
        header("started", &|header| header.started.clone()),
        rows.of_run("verdicts", &|run| format!("{} of {}", run.verdicts.len(), run.header.graphs)),
    ];
    let machine = vec![
        header("CPU", &|header| header.fingerprint.cpu.clone()),
        header("device", &|header| header.fingerprint.device.clone()),
        header("driver", &|header| header.fingerprint.driver.clone()),
        header("kernel", &|header| header.fingerprint.os.clone()),
    ];
    [
        (RUN, run),
        ("Machine", machine),
        ("Versions", versions.into_iter().map(version).collect()),
        ("Settings", settings(&rows)),
    ]
}

fn settings(rows: &FactRows<'_>) -> Vec<FactRow> {
    let header = |name: &str, value: &dyn Fn(&RunHeader) -> String| rows.of_header(name, value);
    vec![
        header("suite", &|header| format!("{} {}", header.suite, header.suite_version)),
        header("mode", &|header| header.settings.mode.to_string()),
        header("device", &|header| header.settings.device.to_string()),
        header("seed", &|header| match header.settings.seed {
            Some(seed) => format!("{seed}, known before the run"),
            None => "the operating system's, one per verdict".to_owned(),
        }),
        header("warm-up / trials / rounds", &|RunHeader { settings, .. }| {
            format!("{} / {} / {}", settings.warmup, settings.trials, settings.rounds)
        }),
        header("checked rounds", &|header| header.settings.check_rounds.to_string()),
        header("adversarial contents", &|header| header.settings.adversarial.join(", ")),
        header("correct at t", &|header| header.settings.correct_at.to_string()),
        header("paths", &|header| header.settings.paths.iter().map(|path| path.name()).collect::<Vec<_>>().join(", ")),
        header("cache", &|header| header.settings.cache.to_string()),
        header("largest fluctuation", &|header| header.settings.max_fluctuation.to_string()),
        header("threads", &|header| header.settings.threads.to_string()),
        header("limits", &|RunHeader { settings, .. }| {
            format!("{} s, {}", settings.timeout_s, bytes(settings.memory_bytes))
        }),
        rows.of_run("score", &|run| {
            let settings = &run.score.settings;
            let es = &settings.es;
            format!(
                "{}, {}, p = {}, b = {}",
                settings.weights,
                es.interpretation.name(),
                es.slowdown_penalty,
                es.error_base
            )
        }),
    ]
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "–".to_owned() } else { text }
}
