use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    RunView,
    compare::{cautions, ranked},
    curves::{curve_table, curves},
    environment::environment,
    failures::failures,
    format::plural,
    leaderboard::leaderboard,
    tasks::tasks,
};

const STYLE: &str = include_str!("../assets/report.css");
const SORT: &str = include_str!("../assets/sort.js");
/// Nothing is loaded from anywhere; style and script are the ones in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The report of one or several runs over one suite: a whole HTML document, to be written to a file as it is.
///
/// Order of `runs` decides colours only; tables are ranked.
pub fn report_page(runs: &[RunView]) -> String {
    let entries = ranked(runs);
    let title = title(runs);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p { (runs.len()) " run" (plural(runs.len())) ": " (labels(entries.iter().map(|entry| entry.label.as_str()))) }
                    @for caution in cautions(runs) { p.caution { (caution) } }
                }
                main {
                    @if runs.is_empty() {
                        p { "No runs were given." }
                    } @else {
                        (section("leaderboard", "Leaderboard", leaderboard(&entries)))
                        (section("curves", "Score by tolerance", html! {
                            div.scroll role="region" aria-label="Figure" tabindex="0" { (curves(&entries)) }
                            (curve_table(&entries))
                        }))
                        (section("tasks", "Tasks", tasks(&entries)))
                        (section("failures", "Failures", failures(&entries)))
                        (section("environment", "Environment", environment(&entries)))
                    }
                }
                footer { p { "Written by PassNet. Ratios are eager / candidate: more than 1 is faster." } }
                script { (PreEscaped(SORT)) }
            }
        }
    };
    page.into_string()
}

fn section(id: &str, heading: &str, content: Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (heading) }
            (content)
        }
    }
}

fn title(runs: &[RunView]) -> String {
    match runs.first() {
        Some(RunView { header, .. }) => format!("PassNet report: {} {}", header.suite, header.suite_version),
        None => "PassNet report".to_owned(),
    }
}

fn labels<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    labels.collect::<Vec<_>>().join(", ")
}
