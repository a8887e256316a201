//! Copies of runs without the data that would reveal hidden graphs.

use std::path::Path;

use passnet_record::{ContentId, Evidence, Reason, RunEvent, RunHeader, Verdict};
use passnet_run::{RunLog, RunStore, read_blob};

use crate::BoardError;

/// Copies a finished run. Status, times and passes are kept. Rewritten text, values, seeds and messages of hidden graphs are
/// removed.
pub(crate) fn redact(private: &Path, log: &RunLog, shown: &Path) -> Result<(), BoardError> {
    let run = shown.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut store = RunStore::open(shown, &RunHeader { run, ..log.header.clone() })?;
    let keep = |store: &RunStore, id: &ContentId| -> Result<(), BoardError> {
        if let Some(bytes) = read_blob(private, id) {
            store.put_blob(&bytes)?;
        }
        Ok(())
    };
    let mut wall = 0;
    for event in &log.events {
        match event {
            RunEvent::Started(_) | RunEvent::Verdict(_) => {}
            RunEvent::Passes { files, .. } => {
                files.iter().try_for_each(|file| keep(&store, &file.blob))?;
                store.append(event)?;
            }
            RunEvent::Finished { wall_ns, .. } => wall = *wall_ns,
        }
    }
    for verdict in log.verdicts() {
        verdict.timings.iter().filter_map(|timing| timing.raw.as_ref()).try_for_each(|raw| keep(&store, raw))?;
        store.append(&RunEvent::Verdict(Box::new(without_graph(verdict))))?;
    }
    Ok(store.finish(wall)?)
}

/// Returns a verdict without data that could reveal the graph. A message can quote nodes and literals. A key is a hash of the
/// graph, with which a guess could be confirmed.
fn without_graph(verdict: &Verdict) -> Verdict {
    let reason = verdict.reason.as_ref().map(|reason| Reason {
        code: reason.code.clone(),
        message: "the graph is hidden, and so are the details".to_owned(),
        detail: None,
    });
    let evidence = &verdict.evidence;
    Verdict {
        key: ContentId::of_parts([verdict.id.task.as_bytes(), verdict.id.graph.as_bytes()]),
        reason,
        outputs: Vec::new(),
        evidence: Evidence {
            matches: evidence.matches.clone(),
            timed_calls_checked: evidence.timed_calls_checked,
            timed_calls_sampled: evidence.timed_calls_sampled,
            usage: evidence.usage,
            sandbox: evidence.sandbox.clone(),
            ..Evidence::default()
        },
        ..verdict.clone()
    }
}
