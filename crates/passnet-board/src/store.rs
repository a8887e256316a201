//! The folder of a board.
//!
//! ```text
//! key, key.pub       Ed25519 key: the secret half is private
//! inbox/ID.pnb       accepted bundles that wait
//! private/NAME/      complete runs on the hidden graphs; never shown
//! runs/NAME/         what the pages show
//! uploads.tsv        times of uploads by submitter: private
//! results/ID.json    the state of each submission that was evaluated: signed, or refused
//! ```

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use ed25519_dalek::SigningKey;
use fs_err as fs;
use passnet_record::{AuthorSpec, ContentId, PassDirectory, ResultStatement, RunEvent, SignedResult, SubmissionState};
use passnet_run::{
    RunLog,
    bundle::{self, Bundle},
};

use crate::{
    error::{BoardError, SubmissionRefusal},
    limits::{Limits, Uploads},
    signature::{hex, key_of, verify},
};

/// Largest size of an unpacked bundle, in bytes. Compressed data can unpack to any size, even if the submission is smaller than
/// [`limits::MAX_BUNDLE`](crate::limits::MAX_BUNDLE).
const MAX_UNPACKED: u64 = 256 << 20;
/// Largest number of characters in an author's name. Paths and names of models are shorter.
const MAX_AUTHOR: usize = 1000;
/// File name of a published log.
const LOG: &str = "run.jsonl.zst";

/// A board: a folder with submissions, runs and results. Only one process at a time evaluates submissions.
pub struct Board {
    pub(crate) folder: PathBuf,
    pub(crate) key: SigningKey,
    limits: Limits,
    uploads: Uploads,
}

/// File with the public key, in hexadecimal; every board has one.
pub(crate) const PUBLIC_KEY: &str = "key.pub";

impl Board {
    /// Opens a board, or creates one, and checks that it signed each run that it shows.
    ///
    /// # Errors
    /// If the folder cannot be written, or holds a run that the board did not sign.
    pub fn open(folder: &Path) -> Result<Self, BoardError> {
        for part in ["inbox", "private", "runs", "results"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let (key, uploads) = (key_of(&folder.join("key"))?, Uploads::open(folder)?);
        let board = Self { folder: folder.to_owned(), key, limits: Limits::default(), uploads };
        fs::write(folder.join(PUBLIC_KEY), board.public_key())?;
        board.check_shown()?;
        Ok(board)
    }

    /// Sets the limits of the board.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the limits of the board.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts an upload of a submitter now. Called before the bundle is read, because verifying a bundle takes time as well.
    ///
    /// # Errors
    /// [`SubmissionRefusal::TooMany`] if the submitter has no upload left, or another error if the count cannot be stored.
    pub fn count_upload(&self, submitter: &str) -> Result<(), BoardError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.uploads.count(submitter, now, &self.limits)
    }

    /// Returns the public key, in hexadecimal.
    pub fn public_key(&self) -> String {
        hex(self.key.verifying_key().as_bytes())
    }

    /// Returns the folder of the runs that pages may show.
    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// Puts a bundle into the inbox. Submitting the same bundle again has no effect.
    ///
    /// # Errors
    /// If it is not a bundle that a board can evaluate, or too many bundles wait.
    pub fn accept(&self, bytes: &[u8]) -> Result<ContentId, BoardError> {
        deposit(&self.folder, bytes, &self.limits)
    }

    /// Returns the state of a submission; `None` if there is no submission with that id.
    ///
    /// # Errors
    /// If its record cannot be read.
    pub fn state(&self, id: &ContentId) -> Result<Option<SubmissionState>, BoardError> {
        // The inbox is checked first: a bundle stays there for a moment after its result was recorded.
        if inbox_file(&self.folder, id).exists() {
            return Ok(Some(SubmissionState::Waiting));
        }
        let path = self.result_file(id);
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&fs::read(path)?)?))
    }

    /// Returns the signed result of a run that the board shows.
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn result_of(&self, run: &str) -> Result<Option<SignedResult>, BoardError> {
        for entry in fs::read_dir(self.folder.join("results"))? {
            if let SubmissionState::Shown(result) = serde_json::from_slice(&fs::read(entry?.path())?)? {
                let statement: ResultStatement = serde_json::from_str(&result.statement)?;
                if statement.run == run {
                    return Ok(Some(result));
                }
            }
        }
        Ok(None)
    }

    /// Returns the waiting bundles, oldest first.
    pub(crate) fn waiting(&self) -> Result<Vec<PathBuf>, BoardError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder.join("inbox"))? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == bundle::EXTENSION) {
                found.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        found.sort();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    /// Records the outcome of a submission, either completely or not at all.
    pub(crate) fn record(&self, id: &ContentId, state: &SubmissionState) -> Result<(), BoardError> {
        write_whole(&self.result_file(id), &serde_json::to_vec(state)?)
    }

    fn result_file(&self, id: &ContentId) -> PathBuf {
        self.folder.join("results").join(format!("{id}.json"))
    }

    /// Checks each run in `runs/` against its signed result.
    fn check_shown(&self) -> Result<(), BoardError> {
        let mut logs = BTreeMap::new();
        for entry in fs::read_dir(self.folder.join("results"))? {
            let path = entry?.path();
            let altered = |message: String| BoardError::Altered { path: path.clone(), message };
            let state = serde_json::from_slice(&fs::read(&path)?).map_err(|error| altered(error.to_string()))?;
            if let SubmissionState::Shown(result) = state {
                let statement =
                    verify(&result, Some(&self.public_key())).map_err(|error| altered(error.to_string()))?;
                logs.insert(statement.run, statement.log);
            }
        }
        for entry in fs::read_dir(self.runs())? {
            let entry = entry?;
            let signed = logs.get(entry.file_name().to_string_lossy().as_ref());
            if signed != Some(&log_id(&entry.path())?) {
                let message = "this board did not sign such a run".to_owned();
                return Err(BoardError::Altered { path: entry.path(), message });
            }
        }
        Ok(())
    }
}

/// Returns the hash of the log of a finished run, computed from the file.
pub(crate) fn log_id(run: &Path) -> Result<ContentId, BoardError> {
    Ok(ContentId::of(&fs::read(run.join(LOG))?))
}

fn inbox_file(folder: &Path, id: &ContentId) -> PathBuf {
    folder.join("inbox").join(format!("{id}.{}", bundle::EXTENSION))
}

/// Checks a bundle and puts it into the inbox of a folder. No key is needed, so the folder may be a checkout of a repository.
pub(crate) fn deposit(folder: &Path, bytes: &[u8], limits: &Limits) -> Result<ContentId, BoardError> {
    if bytes.len() > limits.bundle_bytes {
        return Err(SubmissionRefusal::TooLarge { most: limits.bundle_bytes }.into());
    }
    let inbox = folder.join("inbox");
    fs::create_dir_all(&inbox)?;
    // The temporary name lacks the extension of bundles, so that the reviewer does not see the file before it is verified.
    let mut file = tempfile::NamedTempFile::new_in(&inbox)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let bundle = read(file.path())?;
    passes(&bundle)?;
    let place = inbox_file(folder, &bundle.id);
    if place.exists() || folder.join("results").join(format!("{}.json", bundle.id)).exists() {
        return Ok(bundle.id);
    }
    // One file is not counted: the temporary file from above.
    let waiting = fs::read_dir(&inbox)?.count().saturating_sub(1);
    if waiting >= limits.queue {
        return Err(SubmissionRefusal::Full(waiting).into());
    }
    file.persist(place).map_err(|error| error.error)?;
    Ok(bundle.id)
}

/// Reads and verifies a bundle.
pub(crate) fn read(path: &Path) -> Result<Bundle, SubmissionRefusal> {
    let bundle = bundle::read_at_most(path, MAX_UNPACKED)?;
    if !bundle.log.finished {
        return Err(SubmissionRefusal::Unfinished);
    }
    bundle.log.header.metadata.check()?;
    check_author(&bundle.log.header.author)?;
    Ok(bundle)
}

/// Checks that pages and signed results can show the name of an author, because the submitter chose it.
fn check_author(author: &AuthorSpec) -> Result<(), SubmissionRefusal> {
    let text = author.to_string();
    let shown = text.chars().nth(MAX_AUTHOR).is_none() && !text.chars().any(char::is_control);
    if shown { Ok(()) } else { Err(SubmissionRefusal::Author { most: MAX_AUTHOR }) }
}

/// Returns the last pass directory of each task of a bundle.
pub(crate) fn passes(bundle: &Bundle) -> Result<BTreeMap<String, PassDirectory>, SubmissionRefusal> {
    let RunLog { events, .. } = &bundle.log;
    let mut found = BTreeMap::new();
    for event in events {
        let RunEvent::Passes { task, files, .. } = event else { continue };
        let refusal = |message: String| SubmissionRefusal::Passes { task: task.clone(), message };
        let mut contents = Vec::new();
        for file in files {
            let bytes = bundle.blobs.get(&file.blob).ok_or_else(|| refusal(format!("`{}` is missing", file.path)))?;
            contents.push((file.path.clone(), bytes.clone()));
        }
        // `PassDirectory` refuses paths that lead out of the directory.
        let directory = PassDirectory::new(contents).map_err(|error| refusal(error.to_string()))?;
        found.insert(task.clone(), directory);
    }
    found.retain(|_, directory| !directory.files().is_empty());
    if found.is_empty() { Err(SubmissionRefusal::NoPasses) } else { Ok(found) }
}

/// Writes a file either completely or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), BoardError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_and_oversized_bundles_are_refused_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let board = Board::open(folder.path()).unwrap();
        let refused = |bytes: &[u8]| match board.accept(bytes) {
            Err(BoardError::Refused(refusal)) => refusal,
            other => panic!("{other:?}"),
        };
        assert!(matches!(refused(b""), SubmissionRefusal::Damaged(_)));
        assert!(matches!(refused(b"rubbish"), SubmissionRefusal::Damaged(_)));
        assert!(matches!(refused(&vec![0; crate::MAX_BUNDLE + 1]), SubmissionRefusal::TooLarge { .. }));
        assert_eq!(fs::read_dir(folder.path().join("inbox")).unwrap().count(), 0);
        let board = board.with_limits(Limits { bundle_bytes: 10, ..Limits::default() });
        assert!(matches!(board.accept(&[0; 11]), Err(BoardError::Refused(SubmissionRefusal::TooLarge { most: 10 }))));
        assert_eq!(board.state(&ContentId::of(b"x")).unwrap(), None);
    }

    #[test]
    fn names_of_authors_are_one_short_line() {
        let shown = |argument: &str| check_author(&AuthorSpec::new("dir", Some(argument.to_owned()))).is_ok();
        for argument in ["passes/demo", "größer & <b>", &"é".repeat(MAX_AUTHOR - "dir:".len())] {
            assert!(shown(argument), "{argument}");
        }
        for argument in ["a\nb", "\u{1b}[2J", &"é".repeat(MAX_AUTHOR), &"a".repeat(10 << 20)] {
            assert!(!shown(argument), "{} bytes", argument.len());
        }
    }

    #[test]
    fn a_run_that_the_board_did_not_sign_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        drop(Board::open(folder.path()).unwrap());
        fs::create_dir(folder.path().join("runs/forged")).unwrap();
        fs::write(folder.path().join("runs/forged").join(LOG), "").unwrap();
        assert!(matches!(Board::open(folder.path()), Err(BoardError::Altered { .. })));
    }
}
