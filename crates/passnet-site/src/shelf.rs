//! The runs of a folder, read again when they change.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use fs_err as fs;
use passnet_run::archive::{BlobSource, RunLibrary, find_runs, read_source};
use passnet_web::{LiveRun, RunView, Site};

use crate::{Extras, SiteError, extras::Contents, live::LiveLogs};

/// Pause between two checks of the folder.
const EVERY: Duration = Duration::from_secs(2);

/// Length and time of change of the files that make a run what it is.
type Stamp = Vec<(u64, Option<SystemTime>)>;

/// The site and the library that pages are rendered from.
pub(crate) struct Shown {
    pub(crate) site: Site,
    pub(crate) library: RunLibrary,
}

struct KnownRun {
    stamp: Stamp,
    /// `None` where the run could not be read.
    run: Option<(RunView, BlobSource)>,
}

struct ShelfState {
    shown: Arc<Shown>,
    kept: BTreeMap<PathBuf, KnownRun>,
    looked: Instant,
}

/// A folder of runs, with the suites, dataset and trajectories that the pages also show.
pub struct Shelf {
    folder: PathBuf,
    contents: Contents,
    state: Mutex<ShelfState>,
    /// Unfinished runs; `None` if the shelf has no live page.
    live: Option<Mutex<LiveLogs>>,
}

impl Shelf {
    /// Reads everything for the first time. Runs that cannot be read are left out with a remark in the log.
    ///
    /// # Errors
    /// If the folder, a suite or the dataset is not there.
    pub fn open(folder: &Path, extras: &Extras<'_>, remark: &dyn Fn(&str)) -> Result<Self, SiteError> {
        if !folder.exists() {
            return Err(SiteError::NoFolder(folder.to_owned()));
        }
        let (contents, mut kept) = (Contents::read(extras, remark)?, BTreeMap::new());
        read_changed(folder, &mut kept);
        let shown = Arc::new(show(&contents, &kept));
        let state = Mutex::new(ShelfState { shown, kept, looked: Instant::now() });
        Ok(Self { folder: folder.to_owned(), contents, state, live: None })
    }

    /// Adds the live page: which runs of the folder are being written, and how far they are.
    #[must_use]
    pub fn with_live(mut self) -> Self {
        self.live = Some(Mutex::new(LiveLogs::new(self.folder.clone())));
        self.contents.live = true;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.shown = Arc::new(show(&self.contents, &state.kept));
        self
    }

    /// Returns the unfinished runs; `None` if the shelf has no live page.
    pub(crate) fn live(&self) -> Option<Vec<LiveRun>> {
        Some(self.live.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).current().to_vec())
    }

    /// Returns the content of the shelf, at most a few seconds old.
    pub(crate) fn current(&self) -> Arc<Shown> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() > EVERY {
            if read_changed(&self.folder, &mut state.kept) {
                state.shown = Arc::new(show(&self.contents, &state.kept));
            }
            state.looked = Instant::now();
        }
        Arc::clone(&state.shown)
    }
}

/// Reads the runs that are new or have changed, and forgets those that are gone. Returns whether there were any.
fn read_changed(folder: &Path, kept: &mut BTreeMap<PathBuf, KnownRun>) -> bool {
    let paths = find_runs(folder).unwrap_or_else(|error| {
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
        kept.insert(path, KnownRun { stamp, run });
        changed = true;
    }
    changed
}

fn show(contents: &Contents, kept: &BTreeMap<PathBuf, KnownRun>) -> Shown {
    let (runs, sources) = kept.values().filter_map(|kept| kept.run.clone()).unzip();
    let (site, library) = contents.site(runs, sources);
    Shown { site, library }
}

fn stamp(path: &Path) -> Stamp {
    let files =
        if path.is_dir() { vec![path.join("run.jsonl"), path.join("run.jsonl.zst")] } else { vec![path.to_owned()] };
    let of = |file: PathBuf| fs::metadata(file).map_or((0, None), |meta| (meta.len(), meta.modified().ok()));
    files.into_iter().map(of).collect()
}
