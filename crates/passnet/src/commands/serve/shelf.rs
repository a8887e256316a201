//! The runs of a folder, read again when they change.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use anyhow::Result;
use fs_err as fs;
use passnet_run::archive::{Library, Source, SuiteGraphs, find_runs, read_source};
use passnet_web::{DatasetView, RunView, Site, TrajectoryView};

use crate::{
    args::ExtraPageArgs,
    failure::usage,
    pages::{dataset_view, suite_graphs, trajectories},
};

/// Interval between two looks at the folder.
const EVERY: Duration = Duration::from_secs(2);

/// Length and time of change of the files that make a run what it is.
type Stamp = Vec<(u64, Option<SystemTime>)>;

/// The site and the library that pages are rendered from.
pub(super) struct Shown {
    pub(super) site: Site,
    pub(super) library: Library,
}

struct Kept {
    stamp: Stamp,
    /// `None` where the run could not be read.
    run: Option<(RunView, Source)>,
}

struct State {
    shown: Arc<Shown>,
    kept: BTreeMap<PathBuf, Kept>,
    looked: Instant,
}

/// A folder of runs, with the suites, dataset and trajectories that the pages also show.
pub(super) struct Shelf {
    folder: PathBuf,
    graphs: Arc<SuiteGraphs>,
    dataset: Option<DatasetView>,
    trajectories: Vec<TrajectoryView>,
    published: bool,
    state: Mutex<State>,
}

impl Shelf {
    /// Reads everything for the first time.
    ///
    /// # Errors
    /// Where the folder, a suite or the dataset is not there. Runs that cannot be read are left out with a remark.
    pub(super) fn open(folder: &Path, extra: &ExtraPageArgs) -> Result<Self> {
        if !folder.exists() {
            return Err(usage(format!(
                "{}: there is no such folder; `passnet bench run` makes runs",
                folder.display()
            )));
        }
        let mut shelf = Self {
            folder: folder.to_owned(),
            graphs: suite_graphs(&extra.suite, !extra.no_shapes)?.into(),
            dataset: extra.dataset.as_deref().map(dataset_view).transpose()?,
            trajectories: trajectories(&extra.trajectories)?,
            published: extra.published,
            state: Mutex::new(State {
                shown: Arc::new(Shown { site: Site::new(Vec::new(), Vec::new(), None), library: Library::default() }),
                kept: BTreeMap::new(),
                looked: Instant::now(),
            }),
        };
        let mut kept = BTreeMap::new();
        shelf.read_changed(&mut kept);
        let shown = Arc::new(shelf.show(&kept));
        shelf.state = Mutex::new(State { shown, kept, looked: Instant::now() });
        Ok(shelf)
    }

    /// Returns the content of the shelf, at most a few seconds old.
    pub(super) fn current(&self) -> Arc<Shown> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() > EVERY {
            if self.read_changed(&mut state.kept) {
                state.shown = Arc::new(self.show(&state.kept));
            }
            state.looked = Instant::now();
        }
        Arc::clone(&state.shown)
    }

    /// Reads the runs that are new or have changed, and forgets those that are gone. Returns whether there were any.
    fn read_changed(&self, kept: &mut BTreeMap<PathBuf, Kept>) -> bool {
        let paths = find_runs(&self.folder).unwrap_or_else(|error| {
            tracing::warn!("{error:#}");
            Vec::new()
        });
        let before = kept.len();
        kept.retain(|path, _| paths.contains(path));
        let mut changed = kept.len() < before;
        for path in paths {
            let stamp = stamp(&path);
            if kept.get(&path).is_some_and(|kept| kept.stamp == stamp) {
                continue;
            }
            let run = read_source(&path).map_err(|error| tracing::warn!("left out: {error:#}")).ok();
            kept.insert(path, Kept { stamp, run });
            changed = true;
        }
        changed
    }

    fn show(&self, kept: &BTreeMap<PathBuf, Kept>) -> Shown {
        let (runs, sources) = kept.values().filter_map(|kept| kept.run.clone()).unzip();
        let site = Site::new(runs, self.trajectories.clone(), self.dataset.clone()).with_published(self.published);
        Shown { site, library: Library { sources, graphs: Arc::clone(&self.graphs) } }
    }
}

fn stamp(path: &Path) -> Stamp {
    let files =
        if path.is_dir() { vec![path.join("run.jsonl"), path.join("run.jsonl.zst")] } else { vec![path.to_owned()] };
    let of = |file: PathBuf| fs::metadata(file).map_or((0, None), |meta| (meta.len(), meta.modified().ok()));
    files.into_iter().map(of).collect()
}
