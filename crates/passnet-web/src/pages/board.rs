//! A leaderboard: runs under the same conditions, ranked, with their figures.

use maud::{Markup, html};

use super::{
    author::change,
    contest::winners_of,
    context::{Context, Page},
    glance::{anchor, quotation},
};
use crate::{
    Origin, PageId,
    compare::RankedRun,
    curves::{curve_table, curves},
    draw::{
        bars::{ScoreAxis, coverage_bar, score_mark},
        scatter::{Point, scatter},
    },
    format::{breakable, counted, duration, interval, ratio, score, usd},
    metadata::day,
    shell::{scrolling, section},
    site::Site,
    standings::{Ranked, Standings, coverage, score_interval},
};

/// Runs that the figures of a board show.
const MAX_CURVES: usize = 8;
/// Runs that the page lists.
const MAX_RUNS: usize = 120;
/// Columns of a board after rank and author.
const NUMBERS: [&str; 3] = ["AS", "G-mean", "Cost"];

pub(super) fn page(context: &Context<'_>, at: usize) -> Page {
    let board = &context.site.boards[at];
    let suite = board.conditions.suite;
    let suite_title = context.site.suites[suite].title();
    let (authors, count) = (board.current().count(), board.rows.len());
    let lead = html! {
        p { (board.conditions.in_words()) ", " (counted(authors, "author")) ", " (counted(count, "run")) " over "
            (context.link(PageId::Suite(suite, 0), &suite_title)) "." }
        (quotation(context, board))
    };
    let mut sections = vec![section("ranking", "Ranking", all_runs(context, board))];
    if authors > 1 {
        let table = curve_table(&drawn(context, board));
        sections.push(section("figures", "Figures", html! { div.board { (figures(context, board)) (table) } }));
    }
    sections.extend(winners_of(context, board).map(|content| section("winners", "Who wins where", content)));
    let above = vec![(format!("Suite {suite_title}"), PageId::Suite(suite, 0))];
    Page { title: title(context.site, board), above, lead, sections }
}

/// Returns suite and device of a board.
pub(super) fn title(site: &Site, board: &Standings) -> String {
    format!("{} on {}", site.suites[board.conditions.suite].title(), board.conditions.device)
}

/// Returns the table of all runs, with filters.
fn all_runs(context: &Context<'_>, board: &Standings) -> Markup {
    let rows: Vec<&Ranked> = board.rows.iter().take(MAX_RUNS).collect();
    let has_earlier = rows.iter().any(|row| !row.is_current);
    html! {
        p.about {
            "Ranked by sound score. Authors share a rank if their 95 % intervals overlap. The latest complete run stands for its author; "
            "an earlier run has the rank that it would have against the current runs of other authors."
        }
        (key())
        div.filters data-for="boards" role="search" {
            label { "Find " input type="search" data-find placeholder="author, run …" aria-keyshortcuts="/"; }
            label { input type="checkbox" data-hide="no-passes"; " hide runs without passes" }
            @if has_earlier { label { input type="checkbox" data-show="earlier"; " all runs of an author" } }
            output data-count {}
        }
        div id="boards" { div.board { (ranking(context, board, &rows)) } }
        @if board.rows.len() > rows.len() { p.about { (counted(board.rows.len() - rows.len(), "earlier run")) " not listed." } }
    }
}

/// Returns the explanation of the columns, folded.
pub(super) fn key() -> Markup {
    html! {
        details.about { summary { "How to read the boards" } p {
            "The sound score counts what is faster than both eager mode and the same path without rewriting. In brackets: 95 % interval over "
            "tasks. Runs are comparable only under the same conditions, so each suite, device, path and tolerance has its own board. "
            "Runs tagged “no passes” are those of eager mode and of compilers, for comparison." }
        p {
            "The bar shows three nested parts of the graphs: "
            span.key.covered { "covered" } " (a pass was handed in), " span.key.correct { "correct" } ", and "
            span.key.faster { "faster" } " than eager (95 % interval above 1). AS is the published score, G-mean the geometric mean "
            "speed-up of correct graphs, cost the wall time of all evaluations. Where the prices are known, the money is below: that "
            "time at the price per device hour that the run states, and the tokens of a language model. Change is that of the sound score since the "
            "author's previous ranked run on the board: ▲ and ▼ where the two intervals do not overlap, else ≈."
        } }
    }
}

/// Returns the table of some runs of a board.
pub(super) fn ranking(context: &Context<'_>, board: &Standings, rows: &[&Ranked]) -> Markup {
    let runs = &context.site.runs;
    let axis = ScoreAxis::of(rows.iter().filter_map(|row| score_interval(&runs[row.run])));
    let conditions = &board.conditions;
    let suite = context.site.suites[conditions.suite].title();
    let table = html! {
        table.sortable.filtered {
            thead { tr {
                th.number scope="col" { "Rank" }
                th scope="col" { "Author" }
                th.number scope="col" { "Sound score" }
                th scope="col" { "Covered · correct · faster" }
                @for name in NUMBERS { th.number scope="col" { (name) } }
                th scope="col" { "Change" }
                th scope="col" { "Date" }
            } }
            tbody { @for row in rows { (run_row(context, board, row, &suite, axis)) } }
        }
    };
    scrolling(&format!("Leaderboard of {suite} on {}, {}", conditions.device, conditions.in_words()), table)
}

/// Returns the runs that the figures of a board show.
fn drawn<'a>(context: &'a Context<'_>, board: &Standings) -> Vec<RankedRun<'a>> {
    // Numbered within the board and not within the suite, so that no two authors of a figure have the same colour.
    let entry = |(series, row): (usize, &Ranked)| RankedRun {
        label: context.site.runs[row.run].author_name(),
        series,
        ..context.entry(row.run)
    };
    board.current().take(MAX_CURVES).enumerate().map(entry).collect()
}

/// Figures of a board with several authors: scores against correctness, and scores by tolerance. The page of an author shows its
/// runs over time.
pub(super) fn figures(context: &Context<'_>, board: &Standings) -> Markup {
    let authors = board.current().count();
    if authors < 2 {
        return html! {};
    }
    let entries = drawn(context, board);
    let points: Vec<Point<'_>> = entries.iter().filter_map(point).collect();
    let best = if authors > MAX_CURVES { format!(", the best {MAX_CURVES} authors") } else { String::new() };
    html! {
        div.sides {
            figure {
                figcaption { "Sound score (95 % interval) against correctness" (best) }
                (scrolling("Sound score against correctness", scatter(&points, "Sound score against the share of correct graphs")))
            }
            figure {
                figcaption { "Score by tolerance" (best) }
                (scrolling("Score by tolerance", curves(&entries, &format!("curves-{}", anchor(context.site, &board.conditions)))))
            }
        }
    }
}

/// Returns a run's point; `None` without a sound score or without graphs.
fn point<'a>(entry: &'a RankedRun<'_>) -> Option<Point<'a>> {
    let (sound, parts) = (entry.run.score.sound.as_ref()?, coverage(entry.run));
    (parts.graphs > 0).then_some(())?;
    Some(Point {
        name: &entry.label,
        series: entry.series,
        correct: parts.correct as f64 / parts.graphs as f64,
        score: sound.score,
        bounds: score_interval(entry.run)?,
    })
}

fn run_row(context: &Context<'_>, board: &Standings, row: &Ranked, suite: &str, axis: ScoreAxis) -> Markup {
    let (run, entry) = (&context.site.runs[row.run], &context.site.entries[row.run]);
    let (report, cost, parts) = (&run.score, run.cost_ns(), coverage(run));
    let conditions = &board.conditions;
    html! {
        tr.no-passes[run.has_no_passes()].earlier[!row.is_current] data-device=(conditions.device) data-suite=(suite) data-path=(conditions.path) {
            @match row.rank {
                Some(rank) => td.number.rank { (rank) },
                None => td.number data-sort="–" { span title="unfinished, of fewer graphs than others, or without intervals" { "–" } },
            }
            th.author scope="row" data-sort=(entry.label) {
                // A board has one current run of each author, so the author alone identifies it.
                @let name = if row.is_current { run.author_name() } else { entry.label.clone() };
                a href=(context.href(PageId::Run(row.run))) { (breakable(&name)) }
                @if !row.is_current { " " span.tag { "earlier" } }
                @if !run.header.metadata.organisation.is_empty() { " " small { (run.header.metadata.organisation) } }
                @if run.has_no_passes() { " " span.tag { "no passes" } }
                @if !run.is_complete() { " " span.tag { "unfinished" } }
                @if let Origin::Bundle { id } = &run.origin { " " span.tag title=(format!("verified bundle {id}")) { "bundle" } }
            }
            @match (&report.sound, score_interval(run)) {
                (Some(sound), Some(bounds)) => td.number data-sort=(sound.score) {
                    strong { (score(sound.score)) }
                    @if sound.interval.is_some() { " " small { (interval(bounds)) } (score_mark(axis, sound.score, bounds)) }
                },
                _ => td.number data-sort="–" { span title="the measurements have no confidence intervals" { "–" } },
            }
            td.parts data-sort=(parts.correct) { (coverage_bar(parts)) }
            td.number { (score(report.aggregated)) }
            @match report.tally.geomean_speedup {
                Some(mean) => td.number data-sort=(mean) { (ratio(mean)) },
                None => td.number data-sort="–" { span title="no correct graph was timed" { "–" } },
            }
            td.number data-sort=(cost) {
                (duration(cost as f64))
                // Below the number, because another column would not fit.
                @if let Some(cost) = run.cost_usd() { br; small { (usd(cost)) } }
            }
            td { (change(context, board, row.run)) }
            td.day {
                (day(&run.header.started))
                @if context.site.has_bundles {
                    br; small { a href=(context.bundle_href(row.run)) download aria-label=(format!("Raw bundle of {}", entry.label)) { "raw bundle" } }
                }
            }
        }
    }
}
