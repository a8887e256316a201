//! One author over time: all its runs, board by board.

use maud::{Markup, html};

use super::context::{Context, Page};
use crate::{
    PageId,
    draw::{
        bars::coverage_bar,
        history::{Moment, history},
    },
    format::{counted, interval, score},
    metadata::{day, described},
    shell::{scrolling, section},
    site::Site,
    standings::{Conditions, Standings, coverage, movement, score_interval},
};

pub(super) fn page(context: &Context<'_>, index: usize) -> Page {
    let site = context.site;
    let author = &site.authors[index];
    let is_on = |board: &usize| site.boards[*board].rows.iter().any(|row| author.runs.contains(&row.run));
    let mut boards: Vec<usize> = (0..site.boards.len()).filter(is_on).collect();
    // By name, so that a reader finds a board: the order of the leaderboard depends on all authors.
    boards.sort_by_cached_key(|&board| {
        let Conditions { suite, device, path, correct_at, .. } = &site.boards[board].conditions;
        (site.suites[*suite].title(), device.clone(), path.clone(), *correct_at)
    });
    let content = html! {
        @for &board in &boards { (over_time(context, board, &author.runs)) }
    };
    let lead = html! {
        p {
            (counted(author.runs.len(), "run")) " on " (counted(boards.len(), "board")) "."
            (first_ranks(site, &boards, &author.runs))
        }
        @if let Some(&last) = author.runs.last() { (described(&site.runs[last].header)) }
    };
    Page {
        title: format!("Author {}", author.name),
        above: vec![("Authors".to_owned(), PageId::Authors)],
        lead,
        sections: vec![section("time", "Runs over time", content)],
    }
}

/// Returns the number of boards on which the author has the first rank, of those with other ranked authors.
fn first_ranks(site: &Site, boards: &[usize], runs: &[usize]) -> Markup {
    let own = |standings: &Standings| standings.current().find(|row| runs.contains(&row.run)).and_then(|row| row.rank);
    let boards = boards.iter().map(|&board| &site.boards[board]);
    let ranks: Vec<usize> = boards.filter(|standings| standings.ranked_authors() > 1).filter_map(own).collect();
    let first = ranks.iter().filter(|&&rank| rank == 1).count();
    html! { @if !ranks.is_empty() {
        " Rank 1 on " (first) " of the " (counted(ranks.len(), "board")) " with other ranked authors."
    } }
}

/// Returns the runs of an author on one board, oldest first, as a figure and a table.
fn over_time(context: &Context<'_>, board: usize, runs: &[usize]) -> Markup {
    let site = context.site;
    let standings = &site.boards[board];
    let conditions = &standings.conditions;
    let of_board = |run: &&usize| standings.rows.iter().find(|row| row.run == **run);
    let rows: Vec<_> = runs.iter().filter_map(|run| of_board(&run)).collect();
    let points: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let run = &site.runs[row.run];
            Some(Moment {
                day: day(&run.header.started),
                score: run.score.sound.as_ref()?.score,
                bounds: score_interval(run)?,
                is_ranked: row.rank.is_some(),
            })
        })
        .collect();
    let has_unranked = points.len() > 1 && points.iter().any(|point| !point.is_ranked);
    let has_commits = rows.iter().any(|row| !site.runs[row.run].header.metadata.commit.is_empty());
    let suite = site.suites[conditions.suite].title();
    let table = html! {
        table.history {
            thead { tr {
                th scope="col" { "Date" } th scope="col" { "Run" } th.number scope="col" { "Rank" }
                th.number scope="col" { "Sound score" } th scope="col" { "Change" }
                th scope="col" { "Covered · correct · faster" } @if has_commits { th scope="col" { "Commit" } }
            } }
            tbody { @for row in &rows {
                @let run = &site.runs[row.run];
                tr {
                    td.day { (day(&run.header.started)) }
                    th scope="row" {
                        (context.link(PageId::Run(row.run), &run.header.run))
                        @if !run.is_complete() { " " span.tag { "unfinished" } }
                    }
                    td.number { @match row.rank { Some(rank) => (rank), None => "–" } }
                    td.number { @match (&run.score.sound, score_interval(run)) {
                        (Some(sound), Some(bounds)) => { strong { (score(sound.score)) } @if sound.interval.is_some() { " " small { (interval(bounds)) } } },
                        _ => "–",
                    } }
                    td { (change(context, standings, row.run)) }
                    td.parts { (coverage_bar(coverage(run))) }
                    @if has_commits { td { code { (run.header.metadata.commit) } } }
                }
            } }
        }
    };
    html! {
        h3 { (context.link(PageId::Board(board), &suite)) " on " (conditions.device) ", " (conditions.path) " path, t = "
            (conditions.correct_at.to_string().replace('-', "−")) }
        (history(&points, &format!("Sound score of each run over {suite}")))
        @if has_unranked {
            p.about { "Hollow points are runs without a rank: they are unfinished or have fewer graphs than others on the board, so their scores are not comparable." }
        }
        (scrolling(&format!("Runs over {suite} on {}, {}", conditions.device, conditions.in_words()), table))
    }
}

/// Returns the change of the sound score since the author's previous run on the same board, with a link to the comparison.
pub(super) fn change(context: &Context<'_>, standings: &Standings, run: usize) -> Markup {
    let Some(movement) = movement(&context.site.runs, standings, run) else { return html! { "–" } };
    let (sign, class, title) = match (movement.is_certain, movement.change > 0.0) {
        (false, _) => ("≈", "same", "the intervals of the two scores overlap"),
        (true, true) => ("▲", "up", "better than the previous run: the intervals do not overlap"),
        (true, false) => ("▼", "down", "worse than the previous run: the intervals do not overlap"),
    };
    let text = format!("{sign} {:+.3}", movement.change).replace('-', "−");
    html! {
        span.(format!("movement {class}")) title=(title) { (context.link(context.pair(run, movement.previous), &text)) }
    }
}

/// Returns the list of authors.
pub(super) fn list(context: &Context<'_>) -> Page {
    let site = context.site;
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Author" } th scope="col" { "Organisation" } th.number scope="col" { "Runs" }
                th scope="col" { "First" } th scope="col" { "Last" }
            } }
            tbody { @for (index, author) in site.authors.iter().enumerate() {
                @let of = |run: Option<&usize>| run.map(|&run| &site.runs[run].header);
                tr {
                    th scope="row" { (context.link(PageId::Author(index), &author.name)) }
                    // The last run states the present organisation.
                    td { (of(author.runs.last()).map_or("", |header| &header.metadata.organisation)) }
                    td.number { (author.runs.len()) }
                    td { (of(author.runs.first()).map_or("", |header| day(&header.started))) }
                    td { (of(author.runs.last()).map_or("", |header| day(&header.started))) }
                }
            } }
        }
    };
    Page {
        title: "Authors".to_owned(),
        above: Vec::new(),
        lead: html! { p { (counted(site.authors.len(), "author")) ". Each has a page with its runs over time." } },
        sections: vec![section("authors", "All authors", scrolling("Authors", table))],
    }
}
