//! The leaderboards: comparable runs ranked, one board per suite, device, path and tolerance.

use maud::{Markup, html};

use super::{
    author::change,
    contest::winners,
    context::{Context, Page},
    glance::{anchor, champions, contestants, glance, leaders, quotation},
};
use crate::{
    Origin, PageId,
    compare::RankedRun,
    curves::curves,
    draw::{
        bars::{ScoreAxis, coverage_bar, score_mark},
        scatter::{Point, scatter},
    },
    format::{breakable, counted, duration, interval, ratio, score, usd},
    metadata::day,
    shell::{scrolling, section},
    standings::{Ranked, Standings, all_standings, coverage, score_interval},
};

/// Runs that the figures of a board show.
const MAX_CURVES: usize = 8;
/// Boards whose figures the page shows. Figures are the largest part of the page, and the pages of suites have those of other boards.
const MAX_BOARDS_WITH_FIGURES: usize = 8;
/// Columns of a board after rank and author.
const NUMBERS: [&str; 3] = ["AS", "G-mean", "Cost"];

/// Place of a board's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoardFigures {
    /// Below the board.
    Open,
    /// Below the board, folded.
    Folded,
    /// On the page of the suite.
    OfSuite,
}

pub(super) fn page(context: &Context<'_>) -> Page {
    let site = context.site;
    let all_standings = all_standings(site);
    let best = leaders(site, &all_standings);
    let mut sections = Vec::new();
    if !best.is_empty() {
        sections.push(section("glance", "Best results", glance(context, &all_standings, &best)));
    }
    sections.push(section("leaderboard", "Leaderboards", leaderboard(context, &all_standings, &best)));
    sections.extend(winners(context, &all_standings).map(|content| section("winners", "Who wins where", content)));
    sections.push(section("suites", "Suites", suites(context)));
    let lead = html! {
        p { "PassNet measures code that makes PyTorch models faster. Authors (compilers, language models, people) rewrite graphs of real "
            "models with custom kernels. A referee compares each rewritten graph with eager mode, and times both in sandboxed processes." }
        (champions(context, &all_standings, &best))
        p { (counted(site.runs.len(), "run")) " on " (counted(all_standings.len(), "board")) " over " (counted(site.suites.len(), "suite")) "." }
    };
    Page { title: "PassNet leaderboard".to_owned(), above: Vec::new(), lead, sections }
}

/// Sorts the choices of a filter and removes repetitions.
fn choices<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut values: Vec<&str> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn filter(name: &str, choices: &[&str]) -> Markup {
    html! {
        @if choices.len() > 1 {
            label { (name) " "
                select data-filter=(name.to_lowercase()) {
                    option value="" { "all" }
                    @for choice in choices { option value=(choice) { (choice) } }
                }
            }
        }
    }
}

fn leaderboard(context: &Context<'_>, all_standings: &[Standings], best: &[usize]) -> Markup {
    if all_standings.is_empty() {
        return html! { p { "There are no runs yet. " code { "passnet bench run SUITE --author NAME" } " makes one." } };
    }
    let titles: Vec<String> = context.site.suites.iter().map(|suite| suite.title()).collect();
    let of = |value: fn(&Standings) -> &str| choices(all_standings.iter().map(value));
    // Boards with several authors come first, because readers look for the best results and for comparisons. Other boards are of older
    // versions, of other conditions, or of one author.
    let is_contest = |at: &usize| contestants(context.site, &all_standings[*at]).nth(1).is_some();
    let mut first: Vec<usize> = best.to_vec();
    first.extend((0..all_standings.len()).filter(|at| best.is_empty() || is_contest(at) && !best.contains(at)));
    let more: Vec<usize> = (0..all_standings.len()).filter(|at| !first.contains(at)).collect();
    let board = |at: &usize| {
        let suite = &titles[all_standings[*at].conditions.suite];
        table(context, &all_standings[*at], place_of_figures(*at, &first, all_standings), suite)
    };
    html! {
        p.about {
            "Ranked by sound score: 1 is the speed of eager mode, more is faster, and wrong graphs lower it. Authors share a rank if their 95 % intervals overlap. "
            "The latest complete run stands for its author."
        }
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
            "author's previous run on the board: ▲ and ▼ where the two intervals do not overlap, else ≈."
        } }
        div.filters data-for="boards" role="search" {
            label { "Find " input type="search" data-find placeholder="author, run …" aria-keyshortcuts="/"; }
            (filter("Suite", &choices(titles.iter().map(String::as_str))))
            (filter("Device", &of(|board| &board.conditions.device)))
            (filter("Path", &of(|board| &board.conditions.path)))
            label { input type="checkbox" data-hide="no-passes"; " hide runs without passes" }
            label { input type="checkbox" data-show="earlier"; " all runs of an author" }
            output data-count {}
        }
        div id="boards" {
            @for at in &first { (board(at)) }
            @if !more.is_empty() {
                details.more {
                    summary { (counted(more.len(), "more board")) ": earlier versions, other conditions, one author" }
                    @for at in &more { (board(at)) }
                }
            }
        }
    }
}

/// Returns the place of a board's figures. `first` are the boards that readers see first.
fn place_of_figures(board: usize, first: &[usize], all_standings: &[Standings]) -> BoardFigures {
    let compared = first.iter().filter(|&&at| all_standings[at].current().count() > 1);
    match compared.take(MAX_BOARDS_WITH_FIGURES).position(|&at| at == board) {
        // Readers see the first board's at once.
        Some(0) => BoardFigures::Open,
        Some(_) => BoardFigures::Folded,
        None => BoardFigures::OfSuite,
    }
}

fn table(context: &Context<'_>, board: &Standings, shown: BoardFigures, suite: &str) -> Markup {
    let runs = &context.site.runs;
    let axis = ScoreAxis::of(board.rows.iter().filter_map(|row| score_interval(&runs[row.run])));
    let conditions = &board.conditions;
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
            tbody { @for row in &board.rows { (run_row(context, board, row, suite, axis)) } }
        }
    };
    let id = anchor(context.site, conditions);
    let (authors, count) = (board.current().count(), board.rows.len());
    html! {
        div.board id=(id) {
            h3 { (context.link(PageId::Suite(conditions.suite, 0), suite)) " on " (conditions.device) " " a.anchor href=(format!("#{id}")) aria-label="Link to this board" { "#" } }
            p.about {
                (conditions.path) " path, correct at t = " (conditions.correct_at.to_string().replace('-', "−"))
                @if conditions.mode != "sound" { ", " (conditions.mode) " mode" }
                ", " (counted(authors, "author"))
                @if count > authors { ", " (counted(count, "run")) }
            }
            (scrolling(&format!("Leaderboard of {suite} on {}, {} path", conditions.device, conditions.path), table))
            (quotation(context, board, suite))
            (figures(context, board, shown))
        }
    }
}

/// Figures of a board with several authors: scores against correctness, and scores by tolerance. The page of an author shows its
/// runs over time.
fn figures(context: &Context<'_>, board: &Standings, shown: BoardFigures) -> Markup {
    let runs: Vec<usize> = board.current().map(|row| row.run).collect();
    if runs.len() < 2 {
        return html! {};
    }
    if shown == BoardFigures::OfSuite {
        let page = PageId::Suite(board.conditions.suite, 0);
        return html! { p.about { "Figures are on the " (context.link(page, "page of the suite")) "." } };
    }
    // Numbered within the board and not within the suite, so that no two authors of a figure have the same colour.
    let entry = |(series, &run): (usize, &usize)| RankedRun {
        label: context.site.runs[run].author_name(),
        series,
        ..context.entry(run)
    };
    let entries: Vec<RankedRun<'_>> = runs.iter().take(MAX_CURVES).enumerate().map(entry).collect();
    let points: Vec<Point<'_>> = entries.iter().filter_map(point).collect();
    let best = if runs.len() > MAX_CURVES { format!(", the best {MAX_CURVES} authors") } else { String::new() };
    html! {
        details open[shown == BoardFigures::Open] {
            summary { "Figures" }
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
                // A server offers no bundles, so a link would lead nowhere.
                @if context.site.has_bundles {
                    br; small { a href=(context.site.bundle_path(row.run)) download aria-label=(format!("Raw bundle of {}", entry.label)) { "raw bundle" } }
                }
            }
        }
    }
}

fn suites(context: &Context<'_>) -> Markup {
    html! {
        ul {
            @for (index, suite) in context.site.suites.iter().enumerate() {
                @let graphs: usize = suite.tasks.iter().map(|task| task.graphs.len()).sum();
                li {
                    (context.link(PageId::Suite(index, 0), &suite.title())) ": " (counted(suite.tasks.len(), "task")) ", "
                    (counted(graphs, "graph")) ", " (counted(suite.runs.len(), "run"))
                }
            }
        }
    }
}
