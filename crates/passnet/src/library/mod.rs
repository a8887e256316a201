//! Runs on disk, with what lies beside them, as pages take them.

mod beside;
mod graphs;
mod runs;
mod trajectories;

use std::{collections::BTreeMap, path::Path};

use passnet_eval::store::blob_path;
use passnet_graph::Graph;
use passnet_python::{lint::lint_dir, model};
use passnet_record::{ContentId, GraphId};
use passnet_web::{Archive, GraphView, LintFinding, PassSet, PassText, Trials};
use serde::Deserialize;

pub(crate) use self::{
    beside::dataset_view,
    graphs::Graphs,
    runs::{Source, find_runs, load_run, read_source, score_run},
    trajectories::trajectories,
};

/// Largest blob that a page reads.
const MAX_BLOB: u64 = 64 << 20;

/// Where the runs of a site lie, in its order, and the suites at hand.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) sources: Vec<Source>,
    pub(crate) graphs: std::sync::Arc<Graphs>,
}

/// One side of a measurement: its trial times by round.
#[derive(Deserialize)]
struct Rounds {
    e2e_ns: Vec<Vec<u64>>,
}

/// The blob that the referee keeps of a measurement.
#[derive(Deserialize)]
struct RawTrials {
    eager: Rounds,
    control: Rounds,
    candidate: Rounds,
}

/// Reads the blob of a measurement; `None` where it is something else.
pub(crate) fn trials_of(bytes: &[u8]) -> Option<Trials> {
    let raw: RawTrials = serde_json::from_slice(bytes).ok()?;
    let flat = |rounds: Rounds| rounds.e2e_ns.into_iter().flatten().collect();
    Some(Trials { eager: flat(raw.eager), control: flat(raw.control), candidate: flat(raw.candidate) })
}

impl Library {
    fn blob(&self, run: usize, id: &ContentId) -> Option<Vec<u8>> {
        match self.sources.get(run)? {
            Source::Directory(directory) => read_blob(directory, id),
            Source::Bundle(blobs) => blobs.get(id).cloned(),
        }
    }
}

/// A blob of a run directory; `None` where it is missing, too large, or not what its name says.
pub(crate) fn read_blob(directory: &Path, id: &ContentId) -> Option<Vec<u8>> {
    // A log is not trusted to name blobs: anything but a hash could lead out of the run's directory.
    let is_hash = id.as_str().len() == 64 && id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit());
    let path = blob_path(directory, id);
    let fits = is_hash && fs_err::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BLOB);
    let bytes = if fits { fs_err::read(&path).ok()? } else { return None };
    (ContentId::of(&bytes) == *id).then_some(bytes)
}

impl Archive for Library {
    fn passes(&self, run: usize, set: &PassSet) -> Vec<PassText> {
        let contents: Vec<Option<Vec<u8>>> = set.files.iter().map(|file| self.blob(run, &file.blob)).collect();
        let files: Vec<(&str, &[u8])> = set
            .files
            .iter()
            .zip(&contents)
            .filter_map(|(file, content)| Some((file.path.as_str(), content.as_deref()?)))
            .collect();
        let mut findings: BTreeMap<String, Vec<LintFinding>> = BTreeMap::new();
        // Lint judges a directory as a whole: without all of its files it would blame it for those that were not kept.
        let found = if contents.iter().all(Option::is_some) { lint_dir(&files) } else { Vec::new() };
        for finding in found {
            findings.entry(finding.file.clone()).or_default().push(LintFinding {
                line: finding.start.line,
                column: finding.start.column,
                rule: format!("{} {}", finding.rule, finding.name),
                message: finding.message,
                help: finding.help.to_owned(),
            });
        }
        let text = |content: Option<Vec<u8>>| content.and_then(|bytes| String::from_utf8(bytes).ok());
        set.files
            .iter()
            .zip(contents)
            .map(|(file, content)| PassText {
                path: file.path.clone(),
                text: text(content),
                findings: findings.remove(&file.path).unwrap_or_default(),
            })
            .collect()
    }

    fn trials(&self, run: usize, raw: &ContentId) -> Option<Trials> {
        trials_of(&self.blob(run, raw)?)
    }

    fn graph(&self, suite: &str, version: &str, id: &GraphId) -> Option<GraphView> {
        self.graphs.view(suite, version, id)
    }

    fn rewritten(&self, text: &str) -> Option<Graph> {
        model::parse("rewritten", &as_module(text)).ok()
    }
}

/// The text of a bare `forward` as the module that samples have.
fn as_module(text: &str) -> String {
    let body: Vec<String> = text.trim().lines().map(|line| format!("    {line}")).collect();
    format!("import torch\nclass GraphModule(torch.nn.Module):\n{}\n", body.join("\n"))
}
