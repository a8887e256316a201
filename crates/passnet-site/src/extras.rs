//! Content of pages other than runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use passnet_run::archive::{BlobSource, RunLibrary, SuiteGraphs};
use passnet_web::{DatasetView, RunView, Site, TrajectoryView};

use crate::{SiteError, dataset::dataset_view, graphs::suite_graphs, trajectories::trajectories};

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
    /// Add a page with the published figures of the PassNet paper.
    pub published: bool,
}

/// The content itself, read once.
pub(crate) struct Contents {
    graphs: Arc<SuiteGraphs>,
    dataset: Option<DatasetView>,
    trajectories: Vec<TrajectoryView>,
    published: bool,
}

impl Contents {
    pub(crate) fn read(extras: &Extras<'_>, remark: &dyn Fn(&str)) -> Result<Self, SiteError> {
        Ok(Self {
            graphs: suite_graphs(extras.suites, extras.shapes, remark)?.into(),
            dataset: extras.dataset.map(dataset_view).transpose()?,
            trajectories: trajectories(extras.trajectories)?,
            published: extras.published,
        })
    }

    /// Returns the site of runs with this content, and the library that its pages are rendered from.
    pub(crate) fn site(&self, runs: Vec<RunView>, sources: Vec<BlobSource>) -> (Site, RunLibrary) {
        let site = Site::new(runs, self.trajectories.clone(), self.dataset.clone()).with_published(self.published);
        (site, RunLibrary { sources, graphs: Arc::clone(&self.graphs) })
    }
}
