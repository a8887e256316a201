//! Training runs as views.

use std::path::{Path, PathBuf};

use fs_err as fs;
use passnet_record::{CurveEvent, TRAINING_VERSION, TrainingResults};
use passnet_web::TrainingView;

use crate::SiteError;

/// Events of a curve that are kept: a training run of a million steps has 50,000 points.
const MAX_EVENTS: usize = 100_000;

/// Reads the folders of training runs: `curve.jsonl`, and `results.json` if there is one.
///
/// # Errors
/// If a folder has no curve, or a file is not in the format of docs/reference/training-curves.md.
pub(crate) fn trainings(folders: &[PathBuf]) -> Result<Vec<TrainingView>, SiteError> {
    folders.iter().map(|folder| training(folder)).collect()
}

fn training(folder: &Path) -> Result<TrainingView, SiteError> {
    let curve = folder.join("curve.jsonl");
    if !curve.is_file() {
        return Err(SiteError::NoCurve(curve));
    }
    let bytes = fs::read(&curve)?;
    // A training run that is going on, or was killed, may have an incomplete last line.
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes[..complete].split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let mut events: Vec<CurveEvent> = Vec::new();
    for (index, line) in lines.take(MAX_EVENTS) {
        let problem = |message: String| SiteError::Training { path: curve.clone(), line: index + 1, message };
        let event = serde_json::from_slice(line).map_err(|error| problem(error.to_string()))?;
        match &event {
            CurveEvent::Started { schema_version, .. } if *schema_version != TRAINING_VERSION => {
                return Err(problem(format!(
                    "version {schema_version} is not known; this program reads {TRAINING_VERSION}"
                )));
            }
            CurveEvent::Started { .. } => {}
            _ if events.is_empty() => return Err(problem("the first event should be `started`".to_owned())),
            _ => {}
        }
        events.push(event);
    }
    let path = folder.join("results.json");
    let results = match path.is_file() {
        false => TrainingResults::default(),
        true => serde_json::from_slice(&fs::read(&path)?).map_err(|error| SiteError::Training {
            line: error.line(),
            message: error.to_string(),
            path,
        })?,
    };
    let name = folder.canonicalize()?.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(TrainingView { name, events, scores: results.authors })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(curve: &str) -> Result<usize, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("curve.jsonl"), curve).unwrap();
        training(folder.path()).map(|view| view.events.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn curves_are_checked_and_a_torn_line_is_left_out() {
        let started = "{\"event\":\"started\",\"schema_version\":1,\"name\":\"a\"}\n";
        assert_eq!(read(""), Ok(0));
        assert_eq!(read(&format!("{started}{{\"event\":\"point\",\"step\":1}}\n{{\"event\":")), Ok(2));
        for (curve, message) in [
            ("{\"step\": 20, \"loss\": 5.9}\n".to_owned(), "curve.jsonl:1: missing field `event`"),
            ("{\"event\":\"point\",\"step\":1}\n".to_owned(), "curve.jsonl:1: the first event should be `started`"),
            (started.replace('1', "2"), "curve.jsonl:1: version 2 is not known"),
        ] {
            let error = read(&curve).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
