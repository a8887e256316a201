//! A page while it is written: its content, and the site around it.

use maud::{Markup, html};

use crate::{
    compare::RankedRun,
    shell::Section,
    site::{PageId, Site},
    view::Archive,
};

/// A page's title and content.
pub(super) struct Page {
    pub(super) title: String,
    /// Pages above it, outermost first; the leaderboard is always there.
    pub(super) above: Vec<(String, PageId)>,
    pub(super) lead: Markup,
    pub(super) sections: Vec<Section>,
}

/// Context of a page: the site, and the page's place in it.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) site: &'a Site,
    pub(super) here: PageId,
    pub(super) archive: &'a dyn Archive,
}

impl Context<'_> {
    /// Returns the relative address of another page.
    pub(super) fn href(&self, place: PageId) -> String {
        format!("{}{}", self.here.up(), place.path(self.site))
    }

    /// Returns a link to another page.
    pub(super) fn link(&self, place: PageId, text: &str) -> Markup {
        html! { a href=(self.href(place)) { (text) } }
    }

    /// Returns the relative address of the bundle of a run.
    pub(super) fn bundle_href(&self, run: usize) -> String {
        format!("{}{}", self.here.up(), self.site.bundle_path(run))
    }

    /// Returns a link to the bundle of a run, where the site has bundles.
    pub(super) fn bundle(&self, run: usize) -> Markup {
        html! {
            @if self.site.has_bundles {
                p.raw { a href=(self.bundle_href(run)) download { "Raw bundle" }
                    ": log, passes and trial times of " (self.site.entries[run].label) "." }
            }
        }
    }

    /// Returns a run in the form that figures and tables of several runs use.
    pub(super) fn entry(&self, run: usize) -> RankedRun<'_> {
        let entry = &self.site.entries[run];
        // By position in the suite, so that a run has the same colour on every page.
        let series = self.site.suites[entry.suite].runs.iter().position(|&other| other == run).unwrap_or_default();
        RankedRun { label: entry.label.clone(), run: &self.site.runs[run], series }
    }

    /// Returns the page that compares two runs of one suite, from the lower to the higher rank.
    pub(super) fn pair(&self, one: usize, other: usize) -> PageId {
        let runs = &self.site.suites[self.site.entries[one].suite].runs;
        // One direction for each pair: the site has one page for it, not two.
        let rank = |run: usize| runs.iter().position(|&at| at == run);
        if rank(one) > rank(other) { PageId::Compare(one, other) } else { PageId::Compare(other, one) }
    }

    /// Returns links to the parts of a page, if it has several.
    pub(super) fn parts(&self, count: usize, current: usize, place: impl Fn(usize) -> PageId) -> Markup {
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
