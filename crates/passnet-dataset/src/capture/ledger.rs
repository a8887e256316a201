//! The ledger: one line for each model that was tried, in the directory of the samples. `docs/reference/extract.md` has its schema.

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::CaptureError;

/// Name of the file.
pub const LEDGER: &str = "extract.jsonl";
const SCHEMA_VERSION: u32 = 1;

/// Settings that determine the sample of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Seed of weights and inputs.
    pub seed: u64,
    /// Parameters above which a model is reduced.
    pub max_parameters: f64,
}

/// Result of one model, as the capture reports it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturedModel {
    /// The model as it was named.
    pub spec: String,
    /// `ok`, or the kind of failure.
    pub status: String,
    /// Reason of the failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Samples, relative to the directory of the ledger.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Operations of each graph.
    #[serde(default)]
    pub ops: Vec<usize>,
    /// Nodes of each graph, inputs and output included.
    #[serde(default)]
    pub nodes: Vec<usize>,
    /// Graphs that gave the captured shapes when they were run again.
    #[serde(default)]
    pub replayed: usize,
    /// Wall-clock time in seconds.
    #[serde(default)]
    pub seconds: f64,
    /// CPU time in seconds.
    #[serde(default)]
    pub cpu_seconds: f64,
    /// Largest memory in use, in bytes.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Parameters of the model that was built, where its recipe counts them.
    #[serde(default)]
    pub parameters: Option<u64>,
    /// Fields of the configuration that were made smaller, each with its value before and after.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub reduced: Map<String, Value>,
    /// Operators that the model runs outside of its graphs, each with the number of calls: the samples are partial.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub left_out: Map<String, Value>,
    /// Operators of its graphs that PyTorch does not define.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_operators: Vec<String>,
    /// Name of the inputs of the recipe that were used.
    #[serde(default)]
    pub inputs: String,
}

impl CapturedModel {
    /// Returns whether the model was captured.
    pub fn is_ok(&self) -> bool {
        self.status == "ok"
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    schema_version: u32,
    settings: Settings,
    model: CapturedModel,
}

/// The open ledger. While it is open, no other process writes to it.
pub struct Ledger {
    directory: PathBuf,
    file: File,
    settings: Settings,
    models: HashMap<String, CapturedModel>,
    /// Lines that could not be read.
    pub remarks: Vec<String>,
}

impl Ledger {
    /// Opens the ledger of a directory, which is made where it is missing. Lines of other settings are left alone, and so
    /// is a last line that was cut off.
    ///
    /// # Errors
    /// If another process has it open, or it cannot be read.
    pub fn open(directory: &Path, settings: Settings) -> Result<Self, CaptureError> {
        let path = directory.join(LEDGER);
        let failed = |source| CaptureError::Ledger { path: path.clone(), source };
        fs_err::create_dir_all(directory).map_err(failed)?;
        let mut file = File::options().create(true).read(true).append(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CaptureError::Busy(directory.to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let (mut models, mut remarks) = (HashMap::new(), Vec::new());
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Line>(line) {
                Ok(line) if line.schema_version == SCHEMA_VERSION && line.settings == settings => {
                    models.insert(line.model.spec.clone(), line.model);
                }
                Ok(_) => {}
                Err(error) => remarks.push(format!("{}: a line is skipped: {error}", path.display())),
            }
        }
        if text.last().is_some_and(|&last| last != b'\n') {
            file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")).map_err(failed)?;
        }
        Ok(Self { directory: directory.to_owned(), file, settings, models, remarks })
    }

    /// Returns the recorded result of a model, if there is one.
    pub fn get(&self, spec: &str) -> Option<&CapturedModel> {
        self.models.get(spec)
    }

    /// Returns the models that need not be tried again: those whose samples are there, and unless `retry` those that
    /// failed. A function in a file is always tried, since the file may have changed.
    pub fn done(&self, retry: bool) -> impl Iterator<Item = &str> {
        self.models.values().filter(move |model| self.is_done(model, retry)).map(|model| model.spec.as_str())
    }

    fn is_done(&self, model: &CapturedModel, retry: bool) -> bool {
        let complete = |folder: &String| self.directory.join(folder).join("graph_net.json").is_file();
        let settled = if model.is_ok() { model.folders.iter().all(complete) } else { !retry };
        settled && !model.spec.contains(".py:")
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, model: CapturedModel) -> Result<(), CaptureError> {
        let failed = |source| CaptureError::Ledger { path: self.directory.join(LEDGER), source };
        let line = Line { schema_version: SCHEMA_VERSION, settings: self.settings.clone(), model };
        let mut text = serde_json::to_string(&line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        // One write, so that a line is whole or missing its end.
        self.file
            .write_all(text.as_bytes())
            .map_err(|source| CaptureError::Ledger { path: self.directory.join(LEDGER), source })?;
        self.models.insert(line.model.spec.clone(), line.model);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CapturedModel, LEDGER, Ledger, Settings};

    fn model(spec: &str, status: &str) -> CapturedModel {
        serde_json::from_value(serde_json::json!({"spec": spec, "status": status, "folders": [spec]})).unwrap()
    }

    fn done(ledger: &Ledger, retry: bool) -> Vec<&str> {
        let mut done: Vec<&str> = ledger.done(retry).collect();
        done.sort_unstable();
        done
    }

    #[test]
    fn what_is_done_stays_done_and_a_torn_line_costs_itself() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { seed: 0, max_parameters: 5e8 };
        let mut ledger = Ledger::open(folder.path(), settings.clone()).unwrap();
        for spec in ["here", "gone"] {
            ledger.add(model(spec, "ok")).unwrap();
        }
        ledger.add(model("bad", "timeout")).unwrap();
        ledger.add(model("file.py:f", "timeout")).unwrap();
        assert!(Ledger::open(folder.path(), settings.clone()).is_err(), "the ledger has one writer");
        drop(ledger);
        fs::create_dir(folder.path().join("here")).unwrap();
        fs::write(folder.path().join("here/graph_net.json"), "{}").unwrap();
        let path = folder.path().join(LEDGER);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{}", &text[..50])).unwrap();

        let mut ledger = Ledger::open(folder.path(), settings.clone()).unwrap();
        assert_eq!(done(&ledger, false), ["bad", "here"]);
        assert_eq!(done(&ledger, true), ["here"]);
        ledger.add(model("late", "timeout")).unwrap();
        drop(ledger);
        let ledger = Ledger::open(folder.path(), settings).unwrap();
        assert_eq!(done(&ledger, false), ["bad", "here", "late"]);
        drop(ledger);
        let other = Ledger::open(folder.path(), Settings { seed: 1, max_parameters: 5e8 }).unwrap();
        assert!(done(&other, false).is_empty(), "another seed gives other samples");
    }
}
