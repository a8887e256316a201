//! Runs on disk as the pages of `passnet-web` read them.

mod graphs;
mod runs;

use std::{collections::BTreeMap, sync::Arc};

use passnet_graph::Graph;
use passnet_graphnet::graph_module;
use passnet_lint::lint_dir;
use passnet_record::{ContentId, GraphId, TrialTimes};
use passnet_web::{Archive, GraphView, LintFinding, PassSet, PassText, Trials};

pub use self::{
    graphs::{ShortTypes, SuiteGraphs, sample_view, short_type},
    runs::{ArchiveError, BlobSource, find_runs, load_run, load_runs, read_source, score_run, shown_header},
};
use crate::read_blob;

/// The runs of a site, in the order of its pages, and the suites whose graphs the site draws.
#[derive(Default)]
pub struct RunLibrary {
    /// Source of the blobs of each run.
    pub sources: Vec<BlobSource>,
    /// The graphs of the suites.
    pub graphs: Arc<SuiteGraphs>,
}

impl RunLibrary {
    fn blob(&self, run: usize, id: &ContentId) -> Option<Vec<u8>> {
        match self.sources.get(run)? {
            BlobSource::Directory(directory) => read_blob(directory, id),
            BlobSource::Bundle(blobs) => blobs.get(id).cloned(),
        }
    }
}

impl Archive for RunLibrary {
    fn passes(&self, run: usize, set: &PassSet) -> Vec<PassText> {
        let contents: Vec<Option<Vec<u8>>> = set.files.iter().map(|file| self.blob(run, &file.blob)).collect();
        let files: Vec<(&str, &[u8])> = set
            .files
            .iter()
            .zip(&contents)
            .filter_map(|(file, content)| Some((file.path.as_str(), content.as_deref()?)))
            .collect();
        let mut findings: BTreeMap<String, Vec<LintFinding>> = BTreeMap::new();
        // Lint judges a directory as a whole, so it would report files that were not kept as missing.
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
        // A file that is not UTF-8 has no text to show.
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
        let times: TrialTimes = serde_json::from_slice(&self.blob(run, raw)?).ok()?;
        Some(Trials { eager: times.eager.flat(), control: times.control.flat(), candidate: times.candidate.flat() })
    }

    fn graph(&self, suite: &str, version: &str, id: &GraphId) -> Option<GraphView> {
        self.graphs.view(suite, version, id)
    }

    fn parsed(&self, text: &str) -> Option<Graph> {
        graph_module::parse("model.py", text).ok()
    }

    fn rewritten(&self, text: &str) -> Option<Graph> {
        graph_module::parse("rewritten", &as_module(text)).ok()
    }
}

/// Wraps the text of a bare `forward` in the module that samples have. Replacements are called by bare names, which the reader of samples
/// does not accept, so they are written as functions of `torch`.
fn as_module(text: &str) -> String {
    let body: Vec<String> =
        text.trim().lines().map(|line| format!("    {}", line.replace("= passnet_", "= torch.passnet_"))).collect();
    format!("import torch\nclass GraphModule(torch.nn.Module):\n{}\n", body.join("\n"))
}
