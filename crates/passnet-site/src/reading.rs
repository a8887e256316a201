//! Reads and scores runs on all cores, because a log of thousands of verdicts takes one core more than a second.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use passnet_run::archive::{ArchiveError, BlobSource, read_source};
use passnet_web::RunView;

/// A run and the source of its blobs.
pub(crate) type ReadRun = Result<(Arc<RunView>, BlobSource), ArchiveError>;

/// Reads run directories and bundles; the results are in the order of the paths.
pub(crate) fn read_all(paths: &[PathBuf]) -> Vec<ReadRun> {
    let next = AtomicUsize::new(0);
    let read: Mutex<Vec<(usize, ReadRun)>> = Mutex::new(Vec::with_capacity(paths.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // `Relaxed` suffices: the counter only assigns runs, and the end of the scope synchronises everything else.
            scope.spawn(|| {
                while let Some((at, path)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, paths.get(at)?)))
                {
                    let run = read_source(path).map(|(run, source)| (Arc::new(run), source));
                    read.lock().unwrap_or_else(PoisonError::into_inner).push((at, run));
                }
            });
        }
    });
    let mut read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
    read.sort_by_key(|&(at, _)| at);
    read.into_iter().map(|(_, run)| run).collect()
}
