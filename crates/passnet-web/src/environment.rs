use std::collections::BTreeSet;

use maud::{Markup, html};
use passnet_record::{CacheMode, ExecutionPath, RunHeader};

use crate::{RunView, compare::Entry, format::bytes};

/// Machine, versions and settings of every run; rows in which runs differ are marked.
pub(crate) fn environment(entries: &[Entry<'_>]) -> Markup {
    html! {
        p.about { "What the runs were made with. Rows in which they differ are marked." }
        div.scroll role="region" aria-label="Environment" tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "" }
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

type Row = (String, Vec<String>);

fn groups(entries: &[Entry<'_>]) -> [(&'static str, Vec<Row>); 4] {
    let row = |name: &str, value: &dyn Fn(&RunView) -> String| -> Row {
        (name.to_owned(), entries.iter().map(|entry| or_dash(value(entry.run))).collect())
    };
    let header = |name: &str, value: &dyn Fn(&RunHeader) -> String| row(name, &|run| value(&run.header));
    let versions: BTreeSet<&String> =
        entries.iter().flat_map(|entry| entry.run.header.fingerprint.versions.keys()).collect();
    let version =
        |name: &String| row(name, &|run| run.header.fingerprint.versions.get(name).cloned().unwrap_or_default());
    [
        (
            RUN,
            vec![
                header("run", &|header| header.run.clone()),
                header("started", &|header| header.started.clone()),
                row("verdicts", &|run| format!("{} of {}", run.verdicts.len(), run.header.graphs)),
            ],
        ),
        (
            "Machine",
            vec![
                header("processor", &|header| header.fingerprint.cpu.clone()),
                header("device", &|header| header.fingerprint.device.clone()),
                header("driver", &|header| header.fingerprint.driver.clone()),
                header("kernel", &|header| header.fingerprint.os.clone()),
            ],
        ),
        ("Versions", versions.into_iter().map(version).collect()),
        (
            "Settings",
            vec![
                header("suite", &|header| format!("{} {}", header.suite, header.suite_version)),
                header("mode", &|header| header.settings.mode.clone()),
                header("device", &|header| header.settings.device.clone()),
                header("seed", &|header| header.settings.seed.to_string()),
                header("warm-up / trials / rounds", &|RunHeader { settings, .. }| {
                    format!("{} / {} / {}", settings.warmup, settings.trials, settings.rounds)
                }),
                header("checked rounds", &|header| header.settings.check_rounds.to_string()),
                header("adversarial contents", &|header| header.settings.adversarial.join(", ")),
                header("correct at t", &|header| header.settings.correct_at.to_string()),
                header("paths", &|header| {
                    header.settings.paths.iter().map(|&path| path_name(path)).collect::<Vec<_>>().join(", ")
                }),
                header("cache", &|header| cache_name(header.settings.cache).to_owned()),
                header("largest IQR / median", &|header| header.settings.max_iqr_ratio.to_string()),
                header("threads", &|header| header.settings.threads.to_string()),
                header("limits", &|RunHeader { settings, .. }| {
                    format!("{} s, {}", settings.timeout_s, bytes(settings.memory_bytes))
                }),
                row("score", &|run| {
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
            ],
        ),
    ]
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "–".to_owned() } else { text }
}

const fn path_name(path: ExecutionPath) -> &'static str {
    match path {
        ExecutionPath::Direct => "direct",
        ExecutionPath::Compiled => "compiled",
    }
}

const fn cache_name(cache: CacheMode) -> &'static str {
    match cache {
        CacheMode::Warm => "warm",
        CacheMode::Cold => "cold",
    }
}
