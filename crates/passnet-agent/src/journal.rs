//! Journal of an attempt: one event per line, append-only. The journal is the source of truth: the state of an attempt follows
//! from it, and after any kind of interruption the next start reads it and continues.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::agent::JournalEvent;

/// Error of a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A complete line is not an event.
    #[error("{path}:{line}: not an event of an attempt: {message}; move the file away to start this attempt again")]
    Malformed {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Description of the mistake.
        message: String,
    },
}

/// A journal that this process writes to.
#[derive(Debug)]
pub struct Journal {
    file: File,
    directory: PathBuf,
    replies: usize,
}

impl Journal {
    const NAME: &str = "journal.jsonl";

    /// Reads the events of an attempt's directory; none if there is no journal. An incomplete last line is ignored.
    ///
    /// # Errors
    /// Fails if a complete line is not an event.
    pub fn read(directory: &Path) -> Result<Vec<JournalEvent>, JournalError> {
        Ok(Self::parse(&directory.join(Self::NAME))?.0)
    }

    fn parse(path: &Path) -> Result<(Vec<JournalEvent>, u64), JournalError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error.into()),
        };
        // A line without its end is the event that was being written when the process was killed. It never happened.
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let lines = bytes[..complete].split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let events = lines.map(|(index, line)| {
            serde_json::from_slice(line).map_err(|error| JournalError::Malformed {
                path: path.to_owned(),
                line: index + 1,
                message: error.to_string(),
            })
        });
        Ok((events.collect::<Result<_, _>>()?, complete as u64))
    }

    /// Opens the journal of an attempt for writing and returns its events.
    ///
    /// # Errors
    /// Fails if it cannot be read or written.
    pub fn open(directory: &Path) -> Result<(Self, Vec<JournalEvent>), JournalError> {
        fs::create_dir_all(directory)?;
        let path = directory.join(Self::NAME);
        let (events, complete) = Self::parse(&path)?;
        let file = File::options().create(true).append(true).open(&path)?;
        // Cut before the first append: the next event would otherwise continue the torn line.
        file.set_len(complete)?;
        let replies = events.iter().filter(|event| matches!(event, JournalEvent::Reply { .. })).count();
        Ok((Self { file, directory: directory.to_owned(), replies }, events))
    }

    /// Appends an event in one write.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn append(&mut self, event: &JournalEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        // One write, so that a kill leaves a whole line or the beginning of one.
        self.file.write_all(&line)?;
        self.replies += usize::from(matches!(event, JournalEvent::Reply { .. }));
        Ok(())
    }

    /// Stores the body of the next reply, compressed; returns the name of the file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn keep_raw(&self, body: &[u8]) -> io::Result<String> {
        const LEVEL: i32 = 3;
        let name = format!("raw/{:04}.json.zst", self.replies + 1);
        fs::create_dir_all(self.directory.join("raw"))?;
        fs::write(self.directory.join(&name), zstd::encode_all(body, LEVEL)?)?;
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_cut_off_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &str| JournalEvent::Said { content: text.to_owned() };
        let (mut journal, events) = Journal::open(folder.path()).unwrap();
        assert!(events.is_empty());
        journal.append(&said("one")).unwrap();
        drop(journal);
        let path = folder.path().join(Journal::NAME);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(b"{\"event\":\"sa");
        fs::write(&path, &bytes).unwrap();
        let (mut journal, events) = Journal::open(folder.path()).unwrap();
        assert_eq!(events, [said("one")]);
        journal.append(&said("two")).unwrap();
        assert_eq!(Journal::read(folder.path()).unwrap(), [said("one"), said("two")]);
        fs::write(&path, "{}\n").unwrap();
        assert!(Journal::read(folder.path()).unwrap_err().to_string().contains("journal.jsonl:1"));
    }
}
