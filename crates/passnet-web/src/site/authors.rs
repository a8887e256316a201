//! Authors of a site, each with its runs in order of time.

use std::{collections::BTreeMap, sync::Arc};

use super::slug::Slugs;
use crate::view::RunView;

/// An author: all runs with one name.
#[derive(Debug)]
pub(crate) struct AuthorEntry {
    pub(crate) name: String,
    pub(crate) slug: String,
    /// Runs, oldest first.
    pub(crate) runs: Vec<usize>,
}

/// Groups runs by the name that boards show.
pub(super) fn authors(runs: &[Arc<RunView>]) -> Vec<AuthorEntry> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        by_name.entry(run.author_name()).or_default().push(index);
    }
    let mut slugs = Slugs::default();
    let entry = |(name, mut of): (String, Vec<usize>)| {
        // By time and not by the order of the folder: the page of an author is a history.
        of.sort_by(|&a, &b| runs[a].header.started.cmp(&runs[b].header.started));
        AuthorEntry { slug: slugs.name(&name), name, runs: of }
    };
    by_name.into_iter().map(entry).collect()
}
