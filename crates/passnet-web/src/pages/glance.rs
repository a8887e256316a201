//! The best results on the front page: for each suite and device the most informative board, with its leaders, and a sentence to quote.

use std::cmp::Reverse;

use maud::{Markup, html};
use passnet_record::AuthorSpec;

use super::context::Context;
use crate::{
    PageId,
    draw::bars::{ScoreAxis, coverage_bar, score_mark},
    format::{breakable, counted, interval, score},
    metadata::day,
    shell::scrolling,
    site::Site,
    standings::{Conditions, Ranked, Standings, coverage, score_interval},
};

/// Leaders of a board that share the first rank and are named.
const MAX_NAMES: usize = 3;
/// Results that the table shows; the boards of others are below it.
const MAX_RESULTS: usize = 24;

/// Returns the name of a board within the page. It depends on the conditions alone, so that links to it stay valid.
pub(super) fn anchor(site: &Site, conditions: &Conditions) -> String {
    let suite = &site.suites[conditions.suite].slug;
    let Conditions { device, path, correct_at, mode, .. } = conditions;
    let text = format!("board-{suite}-{device}-{path}-t{correct_at}-{mode}");
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// Returns the authors with a rank, best first, without the baselines: eager mode and the empty author.
pub(super) fn contestants<'a>(site: &'a Site, board: &'a Standings) -> impl Iterator<Item = &'a Ranked> {
    board.current().filter(|row| row.rank.is_some() && !site.runs[row.run].header.author.is_baseline())
}

/// Returns the best of [`contestants`].
fn leader<'a>(site: &'a Site, board: &'a Standings) -> Option<&'a Ranked> {
    contestants(site, board).next()
}

/// Returns one board for each suite and device: of those with a leader the one with most authors, of these the latest,
/// and on the same day the one with the highest score.
pub(super) fn leaders(site: &Site) -> Vec<usize> {
    let all_standings = &site.boards;
    let mut best: Vec<usize> = Vec::new();
    let key = |at: usize| {
        let board = &all_standings[at];
        let run = leader(site, board).map(|row| &site.runs[row.run]);
        let score = run.and_then(|run| run.score.sound.as_ref()).map_or(0.0, |sound| sound.score);
        (contestants(site, board).count(), run.map(|run| day(&run.header.started)), score)
    };
    for at in 0..all_standings.len() {
        if leader(site, &all_standings[at]).is_none() {
            continue;
        }
        let place = |at: usize| {
            let conditions = &all_standings[at].conditions;
            (&site.suites[conditions.suite].name, &conditions.device)
        };
        match best.iter_mut().find(|other| place(**other) == place(at)) {
            Some(other) if key(at) > key(*other) => *other = at,
            Some(_) => {}
            None => best.push(at),
        }
    }
    // The largest evaluations first; graphs without a pass add nothing.
    let covered = |at: usize| leader(site, &all_standings[at]).map(|row| coverage(&site.runs[row.run]).covered);
    best.sort_by_key(|&at| Reverse(covered(at)));
    best
}

/// Returns a sentence that names the authors with the best scores; nothing where there are none.
pub(super) fn champions(context: &Context<'_>, best: &[usize]) -> Markup {
    let site = context.site;
    let mut wins: Vec<(String, usize)> = Vec::new();
    let mut has_ties = false;
    for board in best.iter().map(|&at| &site.boards[at]) {
        let Some(first) = leader(site, board) else { continue };
        let equal = tied(site, board, first);
        has_ties |= equal.len() > 1;
        for name in equal.into_iter().map(|row| site.runs[row.run].author_name()) {
            match wins.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => wins.push((name, 1)),
            }
        }
    }
    wins.sort_by_key(|(_, count)| Reverse(*count));
    wins.truncate(MAX_NAMES);
    if wins.is_empty() {
        return html! {};
    }
    html! {
        p {
            @for (at, (name, count)) in wins.iter().enumerate() {
                @if at > 0 { ", " }
                strong { (name) }
                @if at == 0 {
                    @if has_ties { " leads or shares the lead on " } @else { " leads on " }
                    (count) " of " (counted(best.len(), "pair")) " of suite and device"
                } @else { " on " (count) }
            }
            "."
        }
    }
}

/// Returns a few words about an author for readers who do not know its name; empty for kinds that need none.
fn introduction(author: &AuthorSpec) -> &'static str {
    match author.kind() {
        "fuse" => "built into PassNet",
        "inductor" => "torch.compile",
        "llm" => "language model",
        _ => "",
    }
}

/// Returns the table of the leaders.
pub(super) fn glance(context: &Context<'_>, best: &[usize]) -> Markup {
    let site = context.site;
    let rows: Vec<(&Standings, &Ranked)> =
        best.iter().filter_map(|&at| Some((&site.boards[at], leader(site, &site.boards[at])?))).collect();
    let next = |board| next(site, board);
    let axis = ScoreAxis::of(rows.iter().filter_map(|(_, row)| score_interval(&site.runs[row.run])));
    let table = html! {
        table.glance {
            thead { tr {
                th scope="col" { "Suite" } th scope="col" { "Best author" }
                th.number scope="col" { "Sound score" } th scope="col" { "Covered · correct · faster" }
                th scope="col" { "Next" } th scope="col" { "Date" }
            } }
            tbody { @for (board, row) in rows.iter().take(MAX_RESULTS) { (line(context, board, row, next(board), axis)) } }
        }
    };
    html! {
        p.about {
            "The best author of each suite and device: a sound score of 2 is twice as fast as eager mode over all graphs, wrong ones included as losses. "
            "The line is at 1, bars are 95 % intervals over tasks. Only complete runs count."
        }
        (scrolling("Best results", table))
        @if rows.len() > MAX_RESULTS { p.about { (counted(rows.len() - MAX_RESULTS, "further pair")) " of suite and device: the boards below." } }
    }
}

/// Returns the authors that share a rank, the given one included.
fn tied<'a>(site: &'a Site, board: &'a Standings, row: &Ranked) -> Vec<&'a Ranked> {
    contestants(site, board).filter(|other| other.rank == row.rank).collect()
}

/// Returns the next author on the board, or on boards of the same suite, device and tolerance, and its path if the path differs.
/// Paths can be compared because all are measured against the same eager mode.
fn next<'a>(site: &'a Site, board: &'a Standings) -> Option<(usize, Option<&'a str>)> {
    let best = leader(site, board)?;
    if let Some(row) = contestants(site, board).find(|row| row.rank > best.rank) {
        return Some((row.run, None));
    }
    let of_other_path = |other: &&Standings| {
        other.conditions != board.conditions && other.conditions.is_same_but_for_path(&board.conditions)
    };
    let score = |run: usize| site.runs[run].score.sound.as_ref().map_or(0.0, |sound| sound.score);
    let others = site.boards.iter().filter(of_other_path);
    let others = others.filter_map(|other| Some((leader(site, other)?.run, Some(other.conditions.path.as_str()))));
    others.max_by(|&(a, _), &(b, _)| score(a).total_cmp(&score(b)))
}

fn line(
    context: &Context<'_>,
    board: &Standings,
    row: &Ranked,
    next: Option<(usize, Option<&str>)>,
    axis: ScoreAxis,
) -> Markup {
    let site = context.site;
    let run = &site.runs[row.run];
    let suite = &site.suites[board.conditions.suite];
    let first = tied(site, board, row);
    html! {
        tr {
            th scope="row" {
                a href=(format!("#{}", anchor(site, &board.conditions))) { (suite.name) }
                br; small { (board.conditions.device) ", " (board.conditions.path) " path" }
            }
            td.author {
                @for (at, equal) in first.iter().take(MAX_NAMES).enumerate() {
                    @if at > 0 { ", " }
                    a href=(context.href(PageId::Run(equal.run))) { (breakable(&site.runs[equal.run].author_name())) }
                }
                @if first.len() > MAX_NAMES { " and " (first.len() - MAX_NAMES) " more" }
                @if first.len() > 1 { " " span.tag { "tied" } }
                @else if !introduction(&run.header.author).is_empty() { br; small { (introduction(&run.header.author)) } }
            }
            @match (&run.score.sound, score_interval(run)) {
                (Some(sound), Some(bounds)) => td.number {
                    strong { (score(sound.score)) }
                    @if sound.interval.is_some() { " " small { (interval(bounds)) } (score_mark(axis, sound.score, bounds)) }
                },
                _ => td.number { "–" },
            }
            td.parts { (coverage_bar(coverage(run))) }
            td.author { @match next.and_then(|(run, path)| Some((run, path, site.runs[run].score.sound.as_ref()?))) {
                Some((run, path, sound)) => {
                    (breakable(&site.runs[run].author_name())) " " small { (score(sound.score)) @if let Some(path) = path { ", " (path) " path" } }
                },
                None => small { "no other author" },
            } }
            td.day { (day(&run.header.started)) }
        }
    }
}

/// Returns a sentence with the leader of a board and all conditions, for texts that cite it; nothing where no author has a rank.
pub(super) fn quotation(context: &Context<'_>, board: &Standings) -> Markup {
    let site = context.site;
    let suite = site.suites[board.conditions.suite].title();
    let Some(row) = leader(site, board) else { return html! {} };
    let run = &site.runs[row.run];
    let (Some(sound), Some(bounds)) = (&run.score.sound, score_interval(run)) else { return html! {} };
    let (parts, conditions) = (coverage(run), &board.conditions);
    let tied = tied(site, board, row).len() - 1;
    html! {
        details.quote {
            summary { "Quote" }
            blockquote {
                (run.author_name()) " has a sound score of " (score(sound.score))
                @if sound.interval.is_some() { " (95 % interval " (score(bounds.low)) " to " (score(bounds.high)) ")" }
                " on " (suite) ", " (conditions.device) ", " (conditions.path)
                " path, correct at t = " (conditions.correct_at.to_string().replace('-', "−")) ": "
                (parts.correct) " of " (counted(parts.graphs, "graph")) " correct, " (parts.faster) " faster than eager mode"
                @if tied > 0 { ", tied with " (counted(tied, "author")) }
                ". PassNet run " (run.header.run) ", " (day(&run.header.started)) "."
            }
        }
    }
}
