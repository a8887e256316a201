//! The front page: what was measured and how, the best results, the boards that readers look for, and who wins where.
//!
//! Its length has bounds for any number of runs. The pages of boards have the rest.

use maud::{Markup, html};

use super::{
    board::{figures, key, ranking, title},
    contest::winners,
    context::{Context, Page},
    glance::{anchor, champions, contestants, glance, leaders, quotation},
};
use crate::{
    PageId,
    format::{breakable, counted, score},
    shell::{scrolling, section},
    standings::{Ranked, Standings},
};

/// Boards that the page shows as tables. Others are lines of one table.
const MAX_BOARDS: usize = 10;
/// Authors of the first board, and of each further one, that the page shows.
const MAX_AUTHORS: [usize; 2] = [30, 6];
/// Lines for further boards. The pages of suites list all boards.
const MAX_LINES: usize = 120;
/// Names of authors in the line of a board.
const MAX_NAMES: usize = 6;

pub(super) fn page(context: &Context<'_>) -> Page {
    let site = context.site;
    let best = leaders(site);
    let mut sections = Vec::new();
    if !best.is_empty() {
        sections.push(section("glance", "Best results", glance(context, &best)));
    }
    sections.push(section("leaderboard", "Leaderboards", leaderboard(context, &best)));
    sections.extend(winners(context).map(|content| section("winners", "Who wins where", content)));
    sections.push(section("suites", "Suites", suites(context)));
    if site.takes_submissions {
        sections.push(section("submit", "Submit", how_to_submit()));
    }
    let lead = html! {
        p { "PassNet measures code that makes PyTorch models faster. Authors (compilers, language models, people) rewrite graphs of real "
            "models with custom kernels. A referee compares each rewritten graph with eager mode, and times both in sandboxed processes." }
        (champions(context, &best))
        p { (counted(site.runs.len(), "run")) " on " (counted(site.boards.len(), "board")) " over " (counted(site.suites.len(), "suite")) "." }
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

fn leaderboard(context: &Context<'_>, best: &[usize]) -> Markup {
    let boards = &context.site.boards;
    if boards.is_empty() {
        return html! { p { "There are no runs yet. " code { "passnet bench run SUITE --author NAME" } " makes one." } };
    }
    let titles: Vec<String> = context.site.suites.iter().map(|suite| suite.title()).collect();
    let of = |value: fn(&Standings) -> &str| choices(boards.iter().map(value));
    // Boards with several authors come first, because readers look for the best results and for comparisons. Other boards are of older
    // versions, of other conditions, or of one author.
    let is_contest = |at: &usize| contestants(context.site, &boards[*at]).nth(1).is_some();
    let mut first: Vec<usize> = best.to_vec();
    first.extend((0..boards.len()).filter(|at| best.is_empty() || is_contest(at) && !best.contains(at)));
    if boards.len() <= MAX_BOARDS {
        let rest: Vec<usize> = (0..boards.len()).filter(|at| !first.contains(at)).collect();
        first.extend(rest);
    }
    first.truncate(MAX_BOARDS);
    let more: Vec<usize> = (0..boards.len()).filter(|at| !first.contains(at)).collect();
    // Readers see the figures of one board at once, the pages of boards have those of the others.
    let with_figures = first.iter().copied().find(|&at| boards[at].current().count() > 1);
    html! {
        p.about {
            "Ranked by sound score: 1 is the speed of eager mode, more is faster, and wrong graphs lower it. Authors share a rank if their 95 % intervals overlap. "
            "The latest complete run stands for its author."
        }
        (key())
        div.filters data-for="boards" role="search" {
            label { "Find " input type="search" data-find placeholder="author, suite …" aria-keyshortcuts="/"; }
            (filter("Suite", &choices(titles.iter().map(String::as_str))))
            (filter("Device", &of(|board| &board.conditions.device)))
            (filter("Path", &of(|board| &board.conditions.path)))
            label { input type="checkbox" data-hide="no-passes"; " hide runs without passes" }
            output data-count {}
        }
        div id="boards" {
            @for (place, &at) in first.iter().enumerate() {
                (board(context, at, MAX_AUTHORS[place.min(1)], with_figures == Some(at)))
            }
            @if !more.is_empty() { (others(context, &more)) }
        }
    }
}

/// Returns a board with its best authors.
fn board(context: &Context<'_>, at: usize, most: usize, has_figures: bool) -> Markup {
    let board = &context.site.boards[at];
    let id = anchor(context.site, &board.conditions);
    let rows: Vec<&Ranked> = board.current().take(most).collect();
    let (authors, count) = (board.current().count(), board.rows.len());
    html! {
        div.board id=(id) {
            h3 { (context.link(PageId::Board(at), &title(context.site, board))) " " a.anchor href=(format!("#{id}")) aria-label="Link to this board" { "#" } }
            p.about {
                (board.conditions.in_words()) ", " (counted(authors, "author"))
                @if authors > most { "; the best " (most) " are shown" }
                @if count > authors || authors > 1 && !has_figures {
                    ". " (context.link(PageId::Board(at), &everything(count, authors, has_figures)))
                }
            }
            (ranking(context, board, &rows))
            (quotation(context, board))
            @if has_figures { (figures(context, board)) }
        }
    }
}

/// Returns what the page of a board has in addition.
fn everything(runs: usize, authors: usize, has_figures: bool) -> String {
    match (runs > authors, authors > 1 && !has_figures) {
        (true, true) => format!("All {runs} runs, and figures"),
        (true, false) => format!("All {runs} runs"),
        (false, _) => "Figures".to_owned(),
    }
}

/// Returns one table with a line for each of the other boards.
fn others(context: &Context<'_>, more: &[usize]) -> Markup {
    let table = html! {
        table.sortable {
            thead { tr {
                th scope="col" { "Board" } th scope="col" { "Conditions" } th.number scope="col" { "Runs" }
                th scope="col" { "Authors, best first" } th.number scope="col" { "Best sound score" }
            } }
            tbody { @for &at in more.iter().take(MAX_LINES) { (line(context, at)) } }
        }
    };
    html! {
        div.board.others {
            h3 { (counted(more.len(), "more board")) }
            p.about { "Earlier versions, other conditions, or one author. Each has a page." }
            (scrolling("More boards", table))
            @if more.len() > MAX_LINES { p.about { (counted(more.len() - MAX_LINES, "board")) " not listed; the pages of suites list all." } }
        }
    }
}

fn line(context: &Context<'_>, at: usize) -> Markup {
    let site = context.site;
    let board = &site.boards[at];
    let conditions = &board.conditions;
    let suite = site.suites[conditions.suite].title();
    let names: Vec<String> = board.current().map(|row| site.runs[row.run].author_name()).collect();
    let has_no_passes = board.rows.iter().all(|row| site.runs[row.run].has_no_passes());
    let best = board.current().find_map(|row| site.runs[row.run].score.sound.as_ref().filter(|_| row.rank.is_some()));
    html! {
        tr.no-passes[has_no_passes] id=(anchor(site, conditions)) data-device=(conditions.device) data-suite=(suite) data-path=(conditions.path) {
            th scope="row" { (context.link(PageId::Board(at), &title(site, board))) }
            td.conditions { (conditions.in_words()) }
            td.number { (board.rows.len()) }
            td.author {
                @for (place, name) in names.iter().take(MAX_NAMES).enumerate() { @if place > 0 { ", " } (breakable(name)) }
                @if names.len() > MAX_NAMES { " and " (names.len() - MAX_NAMES) " more" }
            }
            @match best {
                Some(sound) => td.number data-sort=(sound.score) { (score(sound.score)) },
                None => td.number data-sort="–" { span title="no complete run of all graphs" { "–" } },
            }
        }
    }
}

/// Says how to submit to the board that serves the page.
fn how_to_submit() -> Markup {
    html! {
        p { "This leaderboard evaluates the passes of a bundle again, on hidden graphs and with seeds of its own. It ignores the times of the "
            "bundle, and signs what it shows." }
        pre tabindex="0" {
            "passnet bench run SUITE --author dir:my_passes --name \"My passes\" --out runs/mine\n"
            "passnet bundle runs/mine --out mine.pnb\n"
            "passnet submit mine.pnb --to ADDRESS_OF_THIS_PAGE --wait 3600 --key KEY"
        }
        p { "KEY is the " a href="key.pub" { "public key" } " of this leaderboard. The page of each run links its signed result." }
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
