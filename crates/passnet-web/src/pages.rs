//! One module per page.
//!
//! Lists and texts have largest lengths, so that a page of a large run stays below 300 KB. `cargo xtask bench pages` measures this.

mod author;
mod bisected;
mod board;
pub(crate) mod comparison;
mod contest;
mod context;
mod dataset;
mod evaluation;
mod figures;
mod front;
mod glance;
mod live;
mod pass_files;
mod published;
mod run;
mod sample;
mod suite;
mod task;
mod training;
mod trajectory;

use self::context::Context;
use crate::{
    LiveRun,
    shell::{self, Crumb, Document, NavLink},
    site::{PageId, Site},
    view::Archive,
};

impl Site {
    /// Returns the HTML document of a page.
    pub fn render(&self, page: PageId, archive: &dyn Archive) -> String {
        document(&Context { site: self, here: page, archive }, &[])
    }

    /// Returns the HTML document of the live page.
    pub fn render_live(&self, runs: &[LiveRun], archive: &dyn Archive) -> String {
        document(&Context { site: self, here: PageId::Live, archive }, runs)
    }
}

fn document(context: &Context<'_>, live: &[LiveRun]) -> String {
    let here = context.here;
    let page = match here {
        PageId::Index => front::page(context),
        PageId::Board(board) => board::page(context, board),
        PageId::Figures(suite) => figures::page(context, suite),
        PageId::Suite(suite, part) => suite::page(context, suite, part),
        PageId::Run(run) => run::page(context, run),
        PageId::Task(suite, task) => task::page(context, suite, task),
        PageId::Evaluation(run, task, part) => evaluation::page(context, run, task, part),
        PageId::Compare(before, after) => comparison::page(context, before, after),
        PageId::Trajectory(index) => trajectory::page(context, index),
        PageId::Trajectories => trajectory::list(context),
        PageId::Dataset(part) => dataset::page(context, part),
        PageId::Sample(index) => sample::page(context, index),
        PageId::Published => published::page(),
        PageId::Author(index) => author::page(context, index),
        PageId::Authors => author::list(context),
        PageId::Live => live::page(context, live),
        PageId::Training => training::page(context),
        PageId::Bisected(index) => bisected::page(context, index),
        PageId::Bisections => bisected::list(context),
    };
    let crumb = |(title, place): &(String, PageId)| Crumb { title: title.clone(), href: context.href(*place) };
    let mut crumbs: Vec<Crumb> = Vec::new();
    // Main pages have no crumbs: the navigation above shows where they are.
    if !page.above.is_empty() {
        crumbs.push(Crumb { title: "Leaderboard".to_owned(), href: context.href(PageId::Index) });
    }
    crumbs.extend(page.above.iter().map(crumb));
    let places = places(context);
    let (lead, sections, is_live) = (page.lead, page.sections, here == PageId::Live);
    shell::document(&Document { title: &page.title, places, crumbs, lead, sections, is_live, refresh_s: None })
}

/// Returns the main pages that the site has.
fn places(context: &Context<'_>) -> Vec<NavLink> {
    let site = context.site;
    let pages = [
        (true, "Leaderboard", PageId::Index),
        (!site.authors.is_empty(), "Authors", PageId::Authors),
        (site.dataset.is_some(), "Dataset", PageId::Dataset(0)),
        (!site.bisected.is_empty(), "Failing parts", PageId::Bisections),
        (!site.trainings.is_empty(), "Training", PageId::Training),
        (!site.trajectories.is_empty(), "Trajectories", PageId::Trajectories),
        (site.is_live, "Live runs", PageId::Live),
        (site.published, "Published figures", PageId::Published),
    ];
    let place = |(_, title, page)| NavLink { title, href: context.href(page), is_here: page == context.here };
    pages.into_iter().filter(|&(exists, ..)| exists).map(place).collect()
}
