//! One module per page.

mod board;
pub(crate) mod comparison;
mod dataset;
mod evaluation;
mod published;
mod run;
mod suite;
mod task;
mod trajectory;

use maud::{Markup, html};

use crate::{
    Archive, Place, Site,
    compare::Entry,
    shell::{self, Crumb, Document},
};

/// A page's title and content.
struct Page {
    title: String,
    /// Pages above it, outermost first; the leaderboard is always there.
    above: Vec<(String, Place)>,
    lead: Markup,
    sections: Vec<shell::Section>,
}

/// What a page needs to know while it is written: the site, and where it stands in it.
#[derive(Clone, Copy)]
struct Context<'a> {
    site: &'a Site,
    here: Place,
    archive: &'a dyn Archive,
}

impl Context<'_> {
    /// The relative address of another page.
    fn href(&self, place: Place) -> String {
        format!("{}{}", self.here.up(), place.path(self.site))
    }

    /// A link to another page.
    fn link(&self, place: Place, text: &str) -> Markup {
        html! { a href=(self.href(place)) { (text) } }
    }

    /// A run as figures and tables of several runs take it.
    fn entry(&self, run: usize) -> Entry<'_> {
        let entry = &self.site.entries[run];
        let series = self.site.suites[entry.suite].runs.iter().position(|&other| other == run).unwrap_or_default();
        Entry { label: entry.label.clone(), run: &self.site.runs[run], series }
    }

    /// The page that compares two runs of one suite: from the one that ranks lower to the one that ranks higher.
    fn pair(&self, one: usize, other: usize) -> Place {
        let runs = &self.site.suites[self.site.entries[one].suite].runs;
        let rank = |run: usize| runs.iter().position(|&at| at == run);
        if rank(one) > rank(other) { Place::Compare(one, other) } else { Place::Compare(other, one) }
    }

    /// Links to the parts of a page, where it has several.
    fn parts(&self, count: usize, current: usize, place: impl Fn(usize) -> Place) -> Markup {
        html! {
            @if count > 1 {
                nav.parts aria-label="Parts" {
                    @for part in 0..count {
                        @if part == current { span aria-current="page" { (part + 1) } }
                        @else { (self.link(place(part), &(part + 1).to_string())) }
                        " "
                    }
                }
            }
        }
    }
}

/// The HTML document of a page.
pub(crate) fn render(site: &Site, here: Place, archive: &dyn Archive) -> String {
    let context = Context { site, here, archive };
    let page = match here {
        Place::Index => board::page(&context),
        Place::Suite(suite, part) => suite::page(&context, suite, part),
        Place::Run(run) => run::page(&context, run),
        Place::Task(suite, task) => task::page(&context, suite, task),
        Place::Evaluation(run, task, part) => evaluation::page(&context, run, task, part),
        Place::Compare(before, after) => comparison::page(&context, before, after),
        Place::Trajectory(index) => trajectory::page(&context, index),
        Place::Trajectories => trajectory::list(&context),
        Place::Dataset => dataset::page(&context),
    };
    let crumb = |(title, place): &(String, Place)| Crumb { title: title.clone(), href: context.href(*place) };
    let mut crumbs: Vec<Crumb> = Vec::new();
    if here != Place::Index {
        crumbs.push(Crumb { title: "Leaderboard".to_owned(), href: context.href(Place::Index) });
    }
    crumbs.extend(page.above.iter().map(crumb));
    shell::document(&Document { title: &page.title, crumbs, lead: page.lead, sections: page.sections })
}
