//! Results of the capture of models: samples, which are read back, and the ledger of the models that were tried.
//!
//! A Python process captures models and writes one JSON line for each ([`follow`]). `docs/reference/extract.md` describes
//! lines and ledger.

mod error;
mod ledger;
mod left_out;
mod summary;
mod text;

use std::{
    io::BufRead,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use passnet_graphnet::{graph_module, sample::read_sample_dir};
use passnet_record::{CaptureLine, CapturedModel};

pub use self::{
    error::CaptureError,
    ledger::{CaptureLedger, LEDGER},
    left_out::LeftOutFormat,
    summary::Summary,
};

#[derive(Clone, Copy, Debug)]
pub enum CaptureProgress<'a> {
    /// Number of models that will be captured.
    Planned(usize),
    Done(&'a CapturedModel),
}

/// Reads the lines of a capture into `out` to their end, or until `stop`, and records them. A model whose samples cannot be read
/// back counts as failed. Returns `None` if the capture ended before it had tried all planned models.
///
/// # Errors
/// If a line is malformed or cannot be recorded.
pub fn follow(
    lines: impl BufRead,
    out: &Path,
    ledger: &mut CaptureLedger,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(CaptureProgress<'_>),
) -> Result<Option<Summary>, CaptureError> {
    let (mut models, mut reused) = (Vec::new(), None);
    for line in lines.lines() {
        let line = line?;
        // Checked after a line was read: a model that is done must be recorded, or it would be captured again.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match serde_json::from_str(&line).map_err(|source| CaptureError::Line { line, source })? {
            CaptureLine::Plan { models: count, skipped } => {
                reused = Some(skipped.len());
                progress(CaptureProgress::Planned(count - skipped.len()));
                models.extend(skipped.iter().filter_map(|spec| ledger.get(spec).cloned()));
            }
            CaptureLine::Model(model) => {
                // Checked here and not by the capturing process, whose own reader could share a mistake with its writer.
                let model = check_samples(*model, out);
                progress(CaptureProgress::Done(&model));
                // A name that stands for no model is not recorded, so it is looked up again each time.
                if model.status != "unknown_model" {
                    ledger.add(model.clone())?;
                }
                models.push(model);
            }
        }
    }
    Ok(reused.map(|reused| Summary::new(models, reused)))
}

/// Returns the model. It counts as failed if one of its samples cannot be read, or changes when it is printed and read again.
fn check_samples(model: CapturedModel, out: &Path) -> CapturedModel {
    let fault = model.folders.iter().find_map(|folder| check_sample(&out.join(folder)).err());
    match fault {
        Some(reason) => CapturedModel { status: "read_failed".to_owned(), reason, ..model },
        None => model,
    }
}

fn check_sample(folder: &Path) -> Result<(), String> {
    let sample = read_sample_dir(folder).map_err(|error| error.to_string())?;
    let path = folder.join("model.py").display().to_string();
    let again = graph_module::parse(&path, &graph_module::print(&sample.graph)).map_err(|error| error.to_string())?;
    if again != sample.graph {
        return Err(format!(
            "{path}: the written graph differs from the captured one when it is read; please report this"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use passnet_record::CaptureSettings;

    use super::*;

    #[test]
    fn a_model_without_readable_samples_has_failed() {
        let out = tempfile::tempdir().unwrap();
        let mut ledger = CaptureLedger::open(out.path(), CaptureSettings { seed: 0, max_parameters: 5e8 }).unwrap();
        let lines = "{\"event\": \"plan\", \"models\": 3, \"skipped\": [\"before\"]}\n\
                     {\"event\": \"model\", \"spec\": \"a\", \"status\": \"ok\", \"folders\": [\"gone\"]}\n\
                     {\"event\": \"model\", \"spec\": \"b\", \"status\": \"unknown_model\"}\n";
        let mut planned = None;
        let mut progress = |step: CaptureProgress<'_>| {
            if let CaptureProgress::Planned(count) = step {
                planned = Some(count);
            }
        };
        let stop = AtomicBool::new(false);
        let summary = follow(lines.as_bytes(), out.path(), &mut ledger, &stop, &mut progress).unwrap().unwrap();
        assert_eq!((planned, summary.reused, summary.captured, summary.failed), (Some(2), 1, 0, 2));
        assert_eq!(ledger.get("a").unwrap().status, "read_failed");
        assert!(ledger.get("b").is_none());
        assert!(follow("".as_bytes(), out.path(), &mut ledger, &stop, &mut |_| {}).unwrap().is_none());
        assert!(follow("{}".as_bytes(), out.path(), &mut ledger, &stop, &mut |_| {}).is_err());
    }
}
