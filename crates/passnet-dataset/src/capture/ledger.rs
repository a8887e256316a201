//! The ledger: one line for each model that was tried, in a file in the directory of the samples. `docs/reference/extract.md`
//! describes the lines.

use std::{
    collections::HashMap,
    fs::{File, TryLockError},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use passnet_record::{CaptureSettings, CapturedModel, LEDGER_VERSION, LedgerLine, counted};

use super::error::CaptureError;

/// Name of the file.
pub const LEDGER: &str = "extract.jsonl";
/// File of a sample that is written last, so a folder that contains it is complete.
const COMPLETE: &str = "graph_net.json";

/// The open ledger. While it is open, no other process writes to it.
pub struct CaptureLedger {
    directory: PathBuf,
    file: File,
    settings: CaptureSettings,
    models: HashMap<String, CapturedModel>,
    /// Descriptions of lines that could not be read.
    pub remarks: Vec<String>,
}

impl CaptureLedger {
    /// Opens the ledger of a directory, which is created if it does not exist. Lines of other settings are ignored but kept, and
    /// so is a last line that was cut off.
    ///
    /// # Errors
    /// If another process has the ledger open, or the ledger cannot be read.
    pub fn open(directory: &Path, settings: CaptureSettings) -> Result<Self, CaptureError> {
        let path = directory.join(LEDGER);
        let failed = |source| CaptureError::CaptureLedger { path: path.clone(), source };
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
            match serde_json::from_slice::<LedgerLine>(line) {
                Ok(line) if line.schema_version == LEDGER_VERSION && line.settings == settings => {
                    models.insert(line.model.spec.clone(), line.model);
                }
                Ok(_) => {}
                Err(error) => remarks.push(format!("{}: a line is skipped: {error}", path.display())),
            }
        }
        // A line that was cut off gets a line break, so that the next line does not continue it.
        if text.last().is_some_and(|&last| last != b'\n') {
            file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")).map_err(failed)?;
        }
        remarks.extend(nested(directory, models.values()));
        Ok(Self { directory: directory.to_owned(), file, settings, models, remarks })
    }

    /// Returns the recorded result of a model, if there is one.
    pub fn get(&self, spec: &str) -> Option<&CapturedModel> {
        self.models.get(spec)
    }

    /// Returns the models that need not be tried again: those whose samples exist and, unless `retry` is true, those that failed.
    /// A function in a file is always tried again, because the file may have changed.
    pub fn done(&self, retry: bool) -> impl Iterator<Item = &str> {
        self.models.values().filter(move |model| self.is_done(model, retry)).map(|model| model.spec.as_str())
    }

    fn is_done(&self, model: &CapturedModel, retry: bool) -> bool {
        let complete = |folder: &String| self.directory.join(folder).join(COMPLETE).is_file();
        let settled = if model.is_ok() { model.folders.iter().all(complete) } else { !retry };
        settled && !model.spec.contains(".py:")
    }

    /// Adds a line for a model.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn add(&mut self, model: CapturedModel) -> Result<(), CaptureError> {
        let failed = |source| CaptureError::CaptureLedger { path: self.directory.join(LEDGER), source };
        let line = LedgerLine { schema_version: LEDGER_VERSION, settings: self.settings.clone(), model };
        let mut text = serde_json::to_string(&line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        // One write, so that only the end of a line can be missing.
        self.file
            .write_all(text.as_bytes())
            .map_err(|source| CaptureError::CaptureLedger { path: self.directory.join(LEDGER), source })?;
        self.models.insert(line.model.spec.clone(), line.model);
        Ok(())
    }
}

/// Returns a remark if samples are in the folder of another sample. Earlier versions wrote the classes of a model type below its base
/// model, where `passnet dataset import` does not find them.
fn nested<'a>(directory: &Path, models: impl Iterator<Item = &'a CapturedModel>) -> Option<String> {
    let is_sample = |folder: &Path| directory.join(folder).join(COMPLETE).is_file();
    let is_nested = |folder: &&String| {
        let folder = Path::new(folder);
        is_sample(folder) && folder.ancestors().skip(1).any(|above| !above.as_os_str().is_empty() && is_sample(above))
    };
    let mut found: Vec<&String> = models.flat_map(|model| &model.folders).filter(is_nested).collect();
    found.sort_unstable();
    let first = found.first()?;
    Some(format!(
        "{}: {} of an earlier version in the folder of another sample, such as {first}; datasets do not contain them, so capture \
         these models into another directory",
        directory.display(),
        counted(found.len(), "sample")
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CaptureLedger, CaptureSettings, CapturedModel, LEDGER};

    fn model(spec: &str, status: &str) -> CapturedModel {
        serde_json::from_value(serde_json::json!({"spec": spec, "status": status, "folders": [spec]})).unwrap()
    }

    fn done(ledger: &CaptureLedger, retry: bool) -> Vec<&str> {
        let mut done: Vec<&str> = ledger.done(retry).collect();
        done.sort_unstable();
        done
    }

    #[test]
    fn what_is_done_stays_done_and_a_torn_line_costs_itself() {
        let folder = tempfile::tempdir().unwrap();
        let settings = CaptureSettings { seed: 0, max_parameters: 5e8 };
        let mut ledger = CaptureLedger::open(folder.path(), settings.clone()).unwrap();
        for spec in ["here", "gone"] {
            ledger.add(model(spec, "ok")).unwrap();
        }
        ledger.add(model("bad", "timeout")).unwrap();
        ledger.add(model("file.py:f", "timeout")).unwrap();
        assert!(CaptureLedger::open(folder.path(), settings.clone()).is_err(), "the ledger has one writer");
        drop(ledger);
        fs::create_dir(folder.path().join("here")).unwrap();
        fs::write(folder.path().join("here/graph_net.json"), "{}").unwrap();
        let path = folder.path().join(LEDGER);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{}", &text[..50])).unwrap();

        let mut ledger = CaptureLedger::open(folder.path(), settings.clone()).unwrap();
        assert_eq!(done(&ledger, false), ["bad", "here"]);
        assert_eq!(done(&ledger, true), ["here"]);
        ledger.add(model("late", "timeout")).unwrap();
        drop(ledger);
        let ledger = CaptureLedger::open(folder.path(), settings).unwrap();
        assert_eq!(done(&ledger, false), ["bad", "here", "late"]);
        drop(ledger);
        let other = CaptureLedger::open(folder.path(), CaptureSettings { seed: 1, max_parameters: 5e8 }).unwrap();
        assert!(done(&other, false).is_empty(), "another seed gives other samples");
    }

    #[test]
    fn samples_inside_a_sample_count_as_done_with_a_remark() {
        let folder = tempfile::tempdir().unwrap();
        let settings = CaptureSettings { seed: 0, max_parameters: 5e8 };
        let mut ledger = CaptureLedger::open(folder.path(), settings.clone()).unwrap();
        for spec in ["bert", "bert/BertForMaskedLM", "gpt2/subgraph_0", "bert-BertModel"] {
            ledger.add(model(spec, "ok")).unwrap();
            fs::create_dir_all(folder.path().join(spec)).unwrap();
            fs::write(folder.path().join(spec).join("graph_net.json"), "{}").unwrap();
        }
        drop(ledger);
        let ledger = CaptureLedger::open(folder.path(), settings).unwrap();
        assert_eq!(done(&ledger, false).len(), 4);
        let [remark] = ledger.remarks.as_slice() else { panic!("{:?}", ledger.remarks) };
        assert!(
            remark.contains("1 sample of an earlier version") && remark.contains("bert/BertForMaskedLM"),
            "{remark}"
        );
    }
}
