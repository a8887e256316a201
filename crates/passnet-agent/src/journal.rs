//! The journal of an attempt: one event per line, only ever appended to. It is the truth; what an attempt knows is what its
//! journal says, and after any kind of end the next start reads it and goes on.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{Fingerprint, RunSettings};
use serde::{Deserialize, Serialize};

use crate::{
    judgement::Judgement,
    message::{Message, Reply, ToolSpec},
    model::{Finish, Usage},
    task::TaskFacts,
    tools::Observation,
};

/// Version of journals and trajectories.
pub const SCHEMA_VERSION: u32 = 1;

/// What an attempt begins from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// Version of the suite.
    pub suite_version: String,
    /// Split of the suite: `train` or `eval`.
    pub split: String,
    /// The task.
    pub task: TaskFacts,
    /// Which attempt at the task, from 0.
    pub attempt: u32,
    /// Who answers.
    pub model: String,
    /// Steps allowed.
    pub steps: u32,
    /// Seed of sampling.
    pub seed: u64,
    /// How the referee measures.
    pub settings: RunSettings,
    /// Where.
    pub fingerprint: Fingerprint,
    /// Tools that the model was told of.
    pub tools: Vec<ToolSpec>,
    /// The first messages.
    pub messages: Vec<Message>,
    /// When, seconds since 1970, UTC.
    pub started_s: u64,
}

/// Why an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The model had nothing more to do.
    Done,
    /// All steps were used.
    Steps,
    /// The budget of tokens was used.
    Tokens,
    /// The budget of money was used.
    Cost,
    /// The time was used.
    Time,
    /// The best score had not risen for a while.
    NoProgress,
    /// The conversation does not fit the model's context any more.
    Context,
    /// The model answered nothing usable several times in a row.
    Useless,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Why.
    pub exit: Exit,
    /// Files of the best passes, by name; empty where nothing was ever correct.
    pub passes: std::collections::BTreeMap<String, String>,
    /// The best passes measured anew on all graphs, those included that the model was not shown.
    pub evaluation: Option<Judgement>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The attempt began; always first.
    Started(Box<Header>),
    /// The model answered.
    Reply {
        /// Step, from 1.
        step: u32,
        /// The message.
        reply: Reply,
        /// Why it stopped.
        finish: Finish,
        /// Tokens and money.
        usage: Usage,
        /// From request to answer.
        latency_ns: u64,
        /// Requests that failed before.
        retries: u32,
        /// Messages from the beginning whose observations were left out of the request.
        elided: usize,
        /// File with the body as received, beside the journal; empty where nothing was received.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        raw: String,
        /// What was put right in the answer.
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
    /// The harness said something.
    Said {
        /// The text.
        content: String,
    },
    /// The attempt ended; always last.
    Ended(Box<End>),
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A complete line is no event.
    #[error("{path}:{line}: not an event of an attempt: {message}; move the file away to begin this attempt anew")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
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

    /// The events of an attempt's directory; none where there is no journal. A torn last line is left out.
    ///
    /// # Errors
    /// Where a complete line is no event.
    pub fn read(directory: &Path) -> Result<Vec<Event>, JournalError> {
        Ok(Self::parse(&directory.join(Self::NAME))?.0)
    }

    fn parse(path: &Path) -> Result<(Vec<Event>, u64), JournalError> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error.into()),
        };
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

    /// Opens the journal of an attempt for writing and gives what is in it.
    ///
    /// # Errors
    /// Where it cannot be read or written.
    pub fn open(directory: &Path) -> Result<(Self, Vec<Event>), JournalError> {
        fs::create_dir_all(directory)?;
        let path = directory.join(Self::NAME);
        let (events, complete) = Self::parse(&path)?;
        let file = File::options().create(true).append(true).open(&path)?;
        file.set_len(complete)?;
        let replies = events.iter().filter(|event| matches!(event, Event::Reply { .. })).count();
        Ok((Self { file, directory: directory.to_owned(), replies }, events))
    }

    /// Appends an event: one write, so that it is there as a whole or not at all.
    ///
    /// # Errors
    /// Where the disk refuses.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.replies += usize::from(matches!(event, Event::Reply { .. }));
        Ok(())
    }

    /// Keeps the body of the next reply, compressed; gives the name of the file.
    ///
    /// # Errors
    /// Where the disk refuses.
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
        let said = |text: &str| Event::Said { content: text.to_owned() };
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
