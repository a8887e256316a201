//! Limits of a board, and the use that each submitter has made of them.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use fs_err as fs;

use crate::error::{BoardError, SubmissionRefusal};

/// Size of the largest bundle that any board accepts, in bytes.
pub const MAX_BUNDLE: usize = 64 << 20;
/// File with the uploads of each submitter. It is private, because it contains addresses of people.
const UPLOADS: &str = "uploads.tsv";

/// Limits of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of uploads of one submitter within `window`.
    pub uploads: usize,
    pub window: Duration,
    /// Size of the largest bundle, in bytes; at most [`MAX_BUNDLE`].
    pub bundle_bytes: usize,
    /// Largest number of bundles that wait for their evaluation.
    pub queue: usize,
}

impl Limits {
    /// Creates limits. `bundle_mib` is in MiB.
    pub fn new(uploads: usize, window: Duration, bundle_mib: u16, queue: usize) -> Self {
        Self { uploads, window, bundle_bytes: (usize::from(bundle_mib) << 20).min(MAX_BUNDLE), queue }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { uploads: 20, window: Duration::from_secs(86_400), bundle_bytes: MAX_BUNDLE, queue: 100 }
    }
}

/// Times of uploads by submitter, in seconds since 1970, oldest first.
type Times = BTreeMap<String, VecDeque<u64>>;

/// Uploads of each submitter. They are stored, so that a restart of the board does not reset them.
#[derive(Debug)]
pub(crate) struct Uploads {
    path: PathBuf,
    times: Mutex<Times>,
}

impl Uploads {
    /// Reads the uploads of a board. Incomplete lines are skipped.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(UPLOADS);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut times = Times::new();
        for (time, submitter) in text.lines().filter_map(|line| line.split_once('\t')) {
            if let Ok(time) = time.parse() {
                times.entry(submitter.to_owned()).or_default().push_back(time);
            }
        }
        Ok(Self { path, times: Mutex::new(times) })
    }

    /// Counts an upload of a submitter at the time `now`, in seconds since 1970.
    ///
    /// # Errors
    /// [`SubmissionRefusal::TooMany`] if the submitter has no upload left, or another error if the count cannot be stored.
    pub(crate) fn count(&self, submitter: &str, now: u64, limits: &Limits) -> Result<(), BoardError> {
        let window = limits.window.as_secs();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        forget_old(&mut times, now, window);
        let own = times.entry(submitter.to_owned()).or_default();
        if own.len() >= limits.uploads {
            // The oldest upload leaves the window first. A submitter without uploads gets here if the board accepts none at all.
            let left = own.front().map_or(window, |first| first.saturating_add(window).saturating_sub(now));
            return Err(SubmissionRefusal::TooMany {
                most: limits.uploads,
                window_s: window,
                retry_after_s: left.max(1),
            }
            .into());
        }
        own.push_back(now);
        Ok(self.store(&times)?)
    }

    /// Writes all uploads of the window, either completely or not at all.
    fn store(&self, times: &Times) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        // A temporary file is readable only by its owner.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        for (submitter, times) in times {
            for time in times {
                writeln!(file, "{time}\t{submitter}")?;
            }
        }
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn forget_old(times: &mut Times, now: u64, window: u64) {
    times.retain(|_, own| {
        while own.front().is_some_and(|first| first.saturating_add(window) <= now) {
            own.pop_front();
        }
        !own.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_submitter_has_uploads_that_come_back_with_time_and_outlive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { uploads: 2, window: Duration::from_secs(100), ..Limits::default() };
        let uploads = Uploads::open(folder.path()).unwrap();
        let count = |uploads: &Uploads, submitter: &str, now| match uploads.count(submitter, now, &limits) {
            Ok(()) => None,
            Err(BoardError::Refused(SubmissionRefusal::TooMany { retry_after_s, .. })) => Some(retry_after_s),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(count(&uploads, "192.0.2.1", 1000), None);
        assert_eq!(count(&uploads, "192.0.2.1", 1030), None);
        assert_eq!(count(&uploads, "192.0.2.1", 1040), Some(60));
        assert_eq!(count(&uploads, "192.0.2.2", 1040), None, "another submitter");
        let uploads = Uploads::open(folder.path()).unwrap();
        assert_eq!(count(&uploads, "192.0.2.1", 1099), Some(1));
        assert_eq!(count(&uploads, "192.0.2.1", 1100), None);
        assert_eq!(count(&uploads, "192.0.2.1", 1100), Some(30));
        // Old entries are removed, also from the file.
        assert_eq!(count(&uploads, "192.0.2.3", 5000), None);
        assert_eq!(fs::read_to_string(folder.path().join(UPLOADS)).unwrap(), "5000\t192.0.2.3\n");
    }

    #[test]
    fn a_board_can_take_none() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { uploads: 0, ..Limits::default() };
        let refused = Uploads::open(folder.path()).unwrap().count("a", 7, &limits);
        assert!(matches!(refused, Err(BoardError::Refused(SubmissionRefusal::TooMany { retry_after_s: 86_400, .. }))));
    }
}
