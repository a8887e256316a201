//! Journal of an attempt: one event per line, append-only. The journal is the source of truth: the state of an attempt follows
//! from it, and after any kind of interruption the next start reads it and continues.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{Fingerprint, RunSettings, Split};
use serde::{Deserialize, Serialize};

use crate::{
    evaluation::TaskEvaluation,
    message::{Message, Reply, ToolSpec},
    model::{Finish, TokenUsage},
    observation::Observation,
    task::TaskFacts,
};

/// Version of journals and trajectories.
pub const SCHEMA_VERSION: u32 = 1;

/// Identity and conditions of an attempt; the part that a journal's header and a trajectory have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptSetup {
    /// Name of the suite.
    pub suite: String,
    /// Version of the suite.
    pub suite_version: String,
    /// Split of the suite: `train` or `eval`.
    pub split: Split,
    /// Facts about the task.
    pub task: TaskFacts,
    /// Number of the attempt at the task, from 0.
    pub attempt: u32,
    /// Name of the model.
    pub model: String,
    /// Seed of sampling.
    pub seed: u64,
    /// Settings of the referee.
    pub settings: RunSettings,
    /// Machine and versions.
    pub fingerprint: Fingerprint,
    /// Tools that the model could call.
    pub tools: Vec<ToolSpec>,
    /// Start of the attempt, in seconds since 1970, UTC.
    pub started_s: u64,
}

/// First event of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Identity and conditions of the attempt.
    #[serde(flatten)]
    pub setup: AttemptSetup,
    /// Maximum number of steps.
    pub steps: u32,
    /// First messages of the conversation.
    pub messages: Vec<Message>,
}

/// Reason for the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptExit {
    /// The model stopped.
    Done,
    /// The steps were used up.
    Steps,
    /// The token budget was used up.
    Tokens,
    /// The cost budget was used up.
    Cost,
    /// The time was used up.
    Time,
    /// The best score did not rise for `patience` steps.
    NoProgress,
    /// The conversation no longer fits the model's context.
    Context,
    /// The model called no tool several times in a row.
    Useless,
}

impl AttemptExit {
    /// Returns the name as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
            Self::NoProgress => "no_progress",
            Self::Context => "context",
            Self::Useless => "useless",
        }
    }
}

/// End of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// Reason.
    pub exit: AttemptExit,
    /// Files of the best passes, by name; empty if nothing was ever correct.
    pub passes: std::collections::BTreeMap<String, String>,
    /// Final measurement of the best passes on all graphs, including the held-out ones.
    pub evaluation: Option<TaskEvaluation>,
}

/// Event of an attempt: one line of its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JournalEvent {
    /// The attempt began; always first.
    Started(Box<Header>),
    /// The model answered.
    Reply {
        /// Step, from 1.
        step: u32,
        /// The message.
        reply: Reply,
        /// Reason why the model stopped.
        finish: Finish,
        /// Tokens and money.
        usage: TokenUsage,
        /// From request to answer.
        latency_ns: u64,
        /// Requests that failed before.
        retries: u32,
        /// Number of messages at the beginning whose observations were dropped from the request.
        elided: usize,
        /// File with the body as received, relative to the journal; empty if nothing was received.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        raw: String,
        /// Corrections that the client made to the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A tool answered.
    Observed {
        /// The call.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// The answer.
        observation: Observation,
    },
    /// The harness sent a message.
    Said {
        /// The text.
        content: String,
    },
    /// The attempt ended; always last.
    Ended(Box<AttemptEnd>),
}

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
