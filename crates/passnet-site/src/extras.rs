//! Content of pages other than runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use passnet_run::archive::{BlobSource, RunLibrary, SuiteGraphs};
use passnet_web::{BisectedView, DatasetView, RunView, Site, SuiteTraits, TrainingView, TrajectoryView};

use crate::{
    SiteError, bisected::bisected, dataset::dataset_view, graphs::suite_graphs, training::trainings,
    trajectories::trajectories,
};

/// Places of the content of pages other than runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// Suites that runs are of, so that their graphs can be drawn.
    pub suites: &'a [PathBuf],
    /// Ask PyTorch for the shapes within graphs; those of inputs are known without.
    pub shapes: bool,
    /// Dataset to show counts of.
    pub dataset: Option<&'a Path>,
    /// Trajectories: JSONL files, or folders of them.
    pub trajectories: &'a [PathBuf],
    /// Folders that `passnet bisect` wrote.
    pub bisected: &'a [PathBuf],
    /// Folders of training runs, with `curve.jsonl` and `results.json`.
    pub trainings: &'a [PathBuf],
    /// Add a page with the published figures of the PassNet paper.
    pub published: bool,
}

/// The content itself, read once.
pub(crate) struct Contents {
    graphs: Arc<SuiteGraphs>,
    traits: SuiteTraits,
    dataset: Option<DatasetView>,
    trajectories: Vec<TrajectoryView>,
    bisected: Vec<BisectedView>,
    trainings: Vec<TrainingView>,
    published: bool,
    /// The site has the live page.
    pub(crate) live: bool,
    /// The server takes submissions.
    pub(crate) submissions: bool,
}

impl Contents {
    pub(crate) fn read(extras: &Extras<'_>, remark: &dyn Fn(&str)) -> Result<Self, SiteError> {
        let graphs = suite_graphs(extras.suites, extras.shapes, remark)?;
        Ok(Self {
            traits: graphs.traits(),
            graphs: graphs.into(),
            dataset: extras.dataset.map(dataset_view).transpose()?,
            trajectories: trajectories(extras.trajectories)?,
            bisected: bisected(extras.bisected)?,
            trainings: trainings(extras.trainings)?,
            published: extras.published,
            live: false,
            submissions: false,
        })
    }

    /// Returns the site of runs with this content, and the library that its pages are rendered from.
    pub(crate) fn site(&self, runs: Vec<Arc<RunView>>, sources: Vec<BlobSource>) -> (Site, RunLibrary) {
        let site = Site::new(runs, self.trajectories.clone(), self.dataset.clone());
        let site = site.with_trainings(self.trainings.clone()).with_bisected(self.bisected.clone());
        let site = site
            .with_traits(self.traits.clone())
            .with_published(self.published)
            .with_live(self.live)
            .with_submissions(self.submissions)
            .with_bundles(true);
        (site, RunLibrary { sources, graphs: Arc::clone(&self.graphs) })
    }
}
