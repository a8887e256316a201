//! The runs of a folder, read again when they change.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use fs_err as fs;
use passnet_run::archive::{BlobSource, RunLibrary, find_runs, load_run};
use passnet_web::{LiveRun, PageId, RunView, Site};

use crate::{Extras, SiteError, extras::Contents, live::LiveLogs, reading::read_all};

/// Pause between two checks of the folder.
const EVERY: Duration = Duration::from_secs(2);

/// Length and modification time of the files of a run.
type Stamp = Vec<(u64, Option<SystemTime>)>;

/// The site and the library that pages are rendered from.
pub(crate) struct Shown {
    pub(crate) site: Site,
    pub(crate) library: RunLibrary,
    /// Directory or bundle of each run, in the order of the site.
    pub(crate) paths: Vec<PathBuf>,
    /// Requested pages that compare many runs. They resample thousands of verdicts, and do not change until a run changes.
    comparing: Mutex<BTreeMap<PageId, String>>,
}

impl Shown {
    pub(crate) fn new(site: Site, library: RunLibrary, paths: Vec<PathBuf>) -> Self {
        Self { site, library, paths, comparing: Mutex::default() }
    }

    /// Returns a page.
    pub(crate) fn page(&self, place: PageId) -> String {
        if !matches!(place, PageId::Index | PageId::Board(_) | PageId::Suite(..) | PageId::Figures(_)) {
            return self.site.render(place, &self.library);
        }
        let known = || self.comparing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = known().get(&place) {
            return page.clone();
        }
        // Rendered without the lock, so that other pages do not wait.
        let page = self.site.render(place, &self.library);
        known().insert(place, page.clone());
        page
    }
}

struct KnownRun {
    stamp: Stamp,
    /// `None` where the run could not be read.
    run: Option<(Arc<RunView>, BlobSource)>,
}

struct ShelfState {
    /// `None` until a page is asked for.
    shown: Option<Arc<Shown>>,
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
        // An empty folder may get runs later. A file must be a bundle.
        if folder.is_file() {
            load_run(folder)?;
        }
        let (contents, mut kept) = (Contents::read(extras, remark)?, BTreeMap::new());
        read_changed(folder, &mut kept);
        let state = Mutex::new(ShelfState { shown: None, kept, looked: Instant::now() });
        Ok(Self { folder: folder.to_owned(), contents, state, live: None })
    }

    /// Adds the live page: which runs of the folder are being written, and how far they are.
    #[must_use]
    pub fn with_live(mut self) -> Self {
        self.live = Some(Mutex::new(LiveLogs::new(self.folder.clone())));
        self.contents.live = true;
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).shown = None;
        self
    }

    /// Says on the pages how to submit, for the server of a board.
    #[must_use]
    pub fn with_submissions(mut self) -> Self {
        self.contents.submissions = true;
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).shown = None;
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
                state.shown = None;
            }
            state.looked = Instant::now();
        }
        let ShelfState { shown, kept, .. } = &mut *state;
        Arc::clone(shown.get_or_insert_with(|| Arc::new(show(&self.contents, kept))))
    }
}

/// Reads runs that are new or have changed, and removes runs that no longer exist. Returns whether anything changed.
fn read_changed(folder: &Path, kept: &mut BTreeMap<PathBuf, KnownRun>) -> bool {
    let paths = find_runs(folder).unwrap_or_else(|error| {
        tracing::warn!("{error:#}");
        Vec::new()
    });
    let before = kept.len();
    kept.retain(|path, _| paths.contains(path));
    let mut changed = kept.len() < before;
    // The stamp is taken before the run is read, so that the next check notices a change in between.
    let is_new = |(path, stamp): &(PathBuf, Stamp)| kept.get(path).is_none_or(|kept| kept.stamp != *stamp);
    let stamped = paths.into_iter().map(|path| (path.clone(), stamp(&path)));
    let (new, stamps): (Vec<PathBuf>, Vec<Stamp>) = stamped.filter(is_new).unzip();
    changed |= !new.is_empty();
    let read = read_all(&new);
    for ((path, stamp), run) in new.into_iter().zip(stamps).zip(read) {
        let run = run.map_err(|error| tracing::warn!("left out: {error:#}")).ok();
        kept.insert(path, KnownRun { stamp, run });
    }
    changed
}

fn show(contents: &Contents, kept: &BTreeMap<PathBuf, KnownRun>) -> Shown {
    let readable = kept.iter().filter_map(|(path, kept)| Some((path.clone(), kept.run.clone()?)));
    let (paths, read): (Vec<PathBuf>, Vec<_>) = readable.unzip();
    let (runs, sources) = read.into_iter().unzip();
    let (site, library) = contents.site(runs, sources);
    Shown::new(site, library, paths)
}

fn stamp(path: &Path) -> Stamp {
    let files =
        if path.is_dir() { vec![path.join("run.jsonl"), path.join("run.jsonl.zst")] } else { vec![path.to_owned()] };
    let of = |file: PathBuf| fs::metadata(file).map_or((0, None), |meta| (meta.len(), meta.modified().ok()));
    files.into_iter().map(of).collect()
}
