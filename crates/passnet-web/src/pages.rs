//! One module per page.

mod author;
mod board;
pub(crate) mod comparison;
mod context;
mod dataset;
mod evaluation;
mod published;
mod run;
mod suite;
mod task;
mod trajectory;

use self::context::Context;
use crate::{
    shell::{self, Crumb, Document, Place},
    site::{PageId, Site},
    view::Archive,
};

impl Site {
    /// Returns the HTML document of a page.
    pub fn render(&self, page: PageId, archive: &dyn Archive) -> String {
        document(&Context { site: self, here: page, archive })
    }
}

fn document(context: &Context<'_>) -> String {
    let here = context.here;
    let page = match here {
        PageId::Index => board::page(context),
        PageId::Suite(suite, part) => suite::page(context, suite, part),
        PageId::Run(run) => run::page(context, run),
        PageId::Task(suite, task) => task::page(context, suite, task),
        PageId::Evaluation(run, task, part) => evaluation::page(context, run, task, part),
        PageId::Compare(before, after) => comparison::page(context, before, after),
        PageId::Trajectory(index) => trajectory::page(context, index),
        PageId::Trajectories => trajectory::list(context),
        PageId::Dataset => dataset::page(context),
        PageId::Published => published::page(),
        PageId::Author(index) => author::page(context, index),
        PageId::Authors => author::list(context),
    };
    let crumb = |(title, place): &(String, PageId)| Crumb { title: title.clone(), href: context.href(*place) };
    let mut crumbs: Vec<Crumb> = Vec::new();
    if !page.above.is_empty() {
        crumbs.push(Crumb { title: "Leaderboard".to_owned(), href: context.href(PageId::Index) });
    }
    crumbs.extend(page.above.iter().map(crumb));
    let places = places(context);
    shell::document(&Document { title: &page.title, places, crumbs, lead: page.lead, sections: page.sections })
}

/// Returns the main pages that the site has.
fn places(context: &Context<'_>) -> Vec<Place> {
    let site = context.site;
    let pages = [
        (true, "Leaderboard", PageId::Index),
        (!site.authors.is_empty(), "Authors", PageId::Authors),
        (site.dataset.is_some(), "Dataset", PageId::Dataset),
        (!site.trajectories.is_empty(), "Trajectories", PageId::Trajectories),
        (site.published, "Published figures", PageId::Published),
    ];
    let place = |(_, title, page)| Place { title, href: context.href(page), is_here: page == context.here };
    pages.into_iter().filter(|&(exists, ..)| exists).map(place).collect()
}
