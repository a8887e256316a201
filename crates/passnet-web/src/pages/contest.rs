//! Section of the front page and of boards with the best author for each family of graphs, by suite.

use maud::{Markup, html};

use super::context::Context;
use crate::{
    PageId,
    contests::{Ahead, Contest, ahead, contests},
    draw::forest::{ForestAxis, forest, forest_axis},
    families::Family,
    format::{counted, score},
    shell::scrolling,
    standings::{Conditions, Standings},
};

/// Contests that the front page shows in full.
const MAX_CONTESTS: usize = 2;
/// Further contests that it lists.
const MAX_LISTED: usize = 30;

/// Returns the contests of several authors for the front page; `None` without one.
pub(super) fn winners(context: &Context<'_>) -> Option<Markup> {
    let mut contests = contests(context.site, &context.site.boards);
    // The page of its suite shows the families of a single author.
    contests.retain(|contest| contest.authors.len() > 1);
    let listed = contests.split_off(contests.len().min(MAX_CONTESTS));
    (!contests.is_empty()).then(|| {
        html! {
            (explanation())
            @for (index, contest) in contests.iter().enumerate() { (one(context, contest, index == 0)) }
            @if !listed.is_empty() {
                ul { @for contest in listed.iter().take(MAX_LISTED) { li { (line(context, contest)) } } }
            }
        }
    })
}

/// Returns the contest of a board; `None` if it has one author.
pub(super) fn winners_of(context: &Context<'_>, board: &Standings) -> Option<Markup> {
    let same = |other: &&Standings| other.conditions.is_same_but_for_path(&board.conditions);
    let contests = contests(context.site, context.site.boards.iter().filter(same));
    let contest = contests.first().filter(|contest| contest.authors.len() > 1)?;
    Some(html! { (explanation()) (one(context, contest, true)) })
}

fn explanation() -> Markup {
    html! {
        p.about {
            "The sound score of each author's latest complete run, over graphs that have a property in common; the line at 1 is eager mode. "
            "Bars are 95 % intervals over tasks. An author is " em { "ahead" } " of a family if its score is above 1 and above that of "
            "the next author on the same tasks, both beyond their intervals."
        }
    }
}

/// Returns the finding of a contest, with a link to a board that has its table.
fn line(context: &Context<'_>, contest: &Contest) -> Markup {
    let board = context.site.boards.iter().position(|board| board.conditions == contest.conditions);
    let leads: Vec<Ahead> = contest.families.iter().map(ahead).collect();
    html! {
        @match board {
            Some(board) => (context.link(PageId::Board(board), &title(context, contest))),
            None => (title(context, contest)),
        }
        ": " (finding(contest, &leads))
    }
}

fn title(context: &Context<'_>, contest: &Contest) -> String {
    let Conditions { suite, device, correct_at, .. } = &contest.conditions;
    let correct_at = correct_at.to_string().replace('-', "−");
    format!("{} on {device}, t = {correct_at}", context.site.suites[*suite].title())
}

fn one(context: &Context<'_>, contest: &Contest, is_open: bool) -> Markup {
    let leads: Vec<Ahead> = contest.families.iter().map(ahead).collect();
    let scores = contest.families.iter().flat_map(|family| &family.results).filter_map(|result| result.part.score());
    let axis = ForestAxis::of(scores);
    let title = title(context, contest);
    let table = html! {
        table.wins {
            thead { tr {
                th scope="col" { "Family" }
                th.strip scope="col" { "Sound score" (forest_axis(axis)) }
                th scope="col" { "Ahead" }
            } }
            tbody { @for (at, (family, &lead)) in contest.families.iter().zip(&leads).enumerate() {
                @if at == 0 || contest.families[at - 1].property != family.property {
                    tr.group { th scope="colgroup" colspan="3" { (family.property) } }
                }
                (row(contest, family, lead, axis))
            } }
        }
    };
    html! {
        details.contest open[is_open] {
            summary { strong { (title) } ": " (finding(contest, &leads)) }
            ul.legend { @for (at, author) in contest.authors.iter().enumerate() {
                li.(colour(at)) { span { (context.link(PageId::Run(author.run), &author.name)) } }
            } }
            (scrolling(&format!("Authors by family, {title}"), table))
            p.about {
                @if contest.too_small > 0 {
                    (counted(contest.too_small, "family")) " of fewer than 3 tasks "
                    (if contest.too_small == 1 { "is" } else { "are" }) " not shown. "
                }
                (context.link(PageId::Suite(contest.conditions.suite, 0), "Speed-ups of all families")) "."
            }
        }
    }
}

/// Returns a sentence that says which author is ahead on which families.
fn finding(contest: &Contest, leads: &[Ahead]) -> String {
    let count = |lead: Ahead| leads.iter().filter(|&&other| other == lead).count();
    let authors =
        contest.authors.iter().enumerate().map(|(at, author)| (author.name.as_str(), count(Ahead::Author(at))));
    let mut ahead: Vec<(&str, usize)> =
        authors.chain([("eager", count(Ahead::Eager))]).filter(|&(_, count)| count > 0).collect();
    ahead.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let families = counted(leads.len(), "family");
    match ahead.split_first() {
        None => format!("no author is clearly ahead in any of {families}"),
        Some(((first, count), others)) => {
            let others: String = others.iter().map(|(name, count)| format!(", {name} in {count}")).collect();
            format!("{first} is ahead in {count} of {families}{others}")
        }
    }
}

/// By position in the contest and not in the suite, so that no two authors of it have the same colour.
fn colour(at: usize) -> String {
    format!("c{}", at % crate::draw::COLOURS)
}

fn row(contest: &Contest, family: &Family, lead: Ahead, axis: ForestAxis) -> Markup {
    let parts = contest.authors.iter().zip(&family.results);
    let authors: Vec<_> = parts.map(|(author, result)| (author.name.as_str(), &result.part)).collect();
    html! {
        tr {
            th scope="row" { (family.value) " " small { (counted(family.graphs, "graph")) } }
            td.strip { (forest(axis, &authors)) }
            td.ahead { @match lead {
                Ahead::Author(at) => {
                    span.swatch.(colour(at)) { span { (contest.authors[at].name) } }
                    " " small { (family.results[at].part.score().map_or_else(String::new, score)) }
                },
                Ahead::Eager => strong { "eager" },
                Ahead::Unclear => small { "unclear" },
            } }
        }
    }
}
