//! The reader of a run log.

use std::{collections::BTreeMap, io, path::Path};

use passnet_record::{RunEvent, RunHeader, Verdict};

use super::error::StoreError;
use crate::input::read_input;

/// File name of the log of a run that is not finished.
pub(super) const LOG: &str = "run.jsonl";
/// File name of the log of a finished run.
pub(super) const PACKED_LOG: &str = "run.jsonl.zst";

/// The content of a run log.
#[derive(Clone, Debug)]
pub struct RunLog {
    /// The header of the first start, with the description for boards of the last start.
    pub header: RunHeader,
    /// All events in order.
    pub events: Vec<RunEvent>,
    /// True if the last event is `finished`.
    pub finished: bool,
}

impl RunLog {
    /// Reads the log of a run directory, plain or compressed. An incomplete last line is left out.
    ///
    /// # Errors
    /// If there is no run, the log cannot be read, or a complete line is not an event.
    pub fn read(directory: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: directory.to_owned() };
        let (path, bytes) = match read_input(&directory.join(LOG)) {
            Ok(bytes) => (directory.join(LOG), bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = directory.join(PACKED_LOG);
                if !path.exists() {
                    return Err(missing());
                }
                let bytes = read_packed(&path)?;
                (path, bytes)
            }
            // The path is that of a file.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(missing()),
            Err(error) => return Err(error.into()),
        };
        Self::parse(&path, &bytes)
    }

    /// Reads the text of a log. `path` is for messages.
    ///
    /// # Errors If a complete line is not an event, or no line describes the start of the run.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: path.to_owned() };
        let (events, _) = parse(path, bytes)?;
        let headers = || {
            events.iter().filter_map(|event| match event {
                RunEvent::Started(header) => Some(header.as_ref()),
                _ => None,
            })
        };
        let mut header = headers().next().cloned().ok_or_else(missing)?;
        // A later start may correct the description. Fields that it leaves out keep their earlier values.
        let writing = headers().rev().find_map(|header| header.metadata.writing);
        if let Some(stated) = headers().rfind(|header| header.metadata.is_stated()) {
            header.metadata = stated.metadata.clone();
        }
        header.metadata.writing = writing;
        let finished = matches!(events.last(), Some(RunEvent::Finished { .. }));
        Ok(Self { header, events, finished })
    }

    /// Returns one verdict per graph, in the order in which the graphs first got a verdict. If a graph has several verdicts, the last one
    /// is returned.
    pub fn verdicts(&self) -> Vec<&Verdict> {
        let mut place = BTreeMap::new();
        let mut verdicts: Vec<&Verdict> = Vec::new();
        for event in &self.events {
            if let RunEvent::Verdict(verdict) = event {
                match place.get(&verdict.id) {
                    // A graph that is evaluated again, for example after a device failed, keeps its place.
                    Some(&index) => verdicts[index] = verdict.as_ref(),
                    None => {
                        place.insert(&verdict.id, verdicts.len());
                        verdicts.push(verdict);
                    }
                }
            }
        }
        verdicts
    }
}

/// Returns the text of a compressed log.
pub(super) fn read_packed(path: &Path) -> Result<Vec<u8>, StoreError> {
    let packed = read_input(path)?;
    zstd::decode_all(packed.as_slice())
        .map_err(|error| StoreError::Damaged { path: path.to_owned(), message: error.to_string() })
}

/// Returns the events of a log, and the length of the part that consists of complete lines.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<RunEvent>, usize), StoreError> {
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes[..complete].split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let events = lines.map(|(index, line)| {
        serde_json::from_slice(line).map_err(|error| StoreError::Malformed {
            path: path.to_owned(),
            line: index + 1,
            column: error.column().max(1),
            message: error.to_string(),
        })
    });
    Ok((events.collect::<Result<_, _>>()?, complete))
}
