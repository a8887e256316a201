//! Failing parts that `passnet bisect` saved, as views.

use std::path::{Path, PathBuf};

use fs_err as fs;
use passnet_record::{BISECTED_KEY, BisectedPart, GraphId};
use passnet_run::archive::sample_view;
use passnet_web::BisectedView;
use serde_json::{Map, Value};

use crate::SiteError;

/// Folders below the one that is named: tasks can be nested.
const MAX_DEPTH: usize = 8;
/// Parts that are shown.
const MAX_PARTS: usize = 2000;

/// Reads the failing parts below some folders, sorted by graph. Other samples are left out.
///
/// # Errors
/// If a folder does not exist or cannot be read.
pub(crate) fn bisected(folders: &[PathBuf]) -> Result<Vec<BisectedView>, SiteError> {
    let mut views = Vec::new();
    for folder in folders {
        if !folder.is_dir() {
            return Err(SiteError::NoBisected(folder.clone()));
        }
        collect(folder, folder, MAX_DEPTH, &mut views)?;
    }
    views.sort_by(|a, b| (&a.id, &a.author).cmp(&(&b.id, &b.author)));
    Ok(views)
}

fn collect(root: &Path, folder: &Path, depth: usize, views: &mut Vec<BisectedView>) -> Result<(), SiteError> {
    if folder.join("graph_net.json").is_file() {
        if views.len() < MAX_PARTS {
            views.extend(view(root, folder));
        }
        return Ok(());
    }
    let mut folders: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    folders.retain(|path| path.is_dir() && depth > 0);
    folders.iter().try_for_each(|folder| collect(root, folder, depth - 1, views))
}

/// Returns the failing part in a folder. `None`, with a remark in the log, if the folder holds none.
fn view(root: &Path, folder: &Path) -> Option<BisectedView> {
    let remark = |what: &str| tracing::warn!("{}: left out: {what}", folder.display());
    let text = fs::read(folder.join("graph_net.json")).map_err(|error| remark(&error.to_string())).ok()?;
    let mut meta: Map<String, Value> =
        serde_json::from_slice(&text).map_err(|error| remark(&error.to_string())).ok()?;
    let found = meta.remove(BISECTED_KEY).or_else(|| {
        remark("`graph_net.json` has no `bisected`: `passnet bisect` did not write this sample");
        None
    })?;
    let found: BisectedPart = serde_json::from_value(found).map_err(|error| remark(&error.to_string())).ok()?;
    let part = sample_view(folder).map_err(|error| remark(&error.to_string())).ok()?;
    let (code, message) = found.reason.map(|reason| (reason.code, reason.message)).unwrap_or_default();
    Some(BisectedView {
        id: id(root, folder),
        author: found.author,
        status: found.status.name().to_owned(),
        code,
        message,
        whole: found.nodes_of_whole,
        is_minimal: found.minimal,
        part,
    })
}

/// The graph of a part is named by its path: `TASK/GRAPH` below the folder.
fn id(root: &Path, folder: &Path) -> GraphId {
    let path = folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().into_owned();
    match path.rsplit_once('/') {
        Some((task, graph)) => GraphId { task: task.to_owned(), graph: graph.to_owned() },
        None => GraphId { task: path.clone(), graph: path },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../passnet/tests/data/bisected")
    }

    #[test]
    fn saved_parts_are_read_and_other_samples_are_not() {
        let (part,): (BisectedView,) = match <[BisectedView; 1]>::try_from(bisected(&[root()]).unwrap()) {
            Ok([part]) => (part,),
            Err(parts) => panic!("{} parts", parts.len()),
        };
        assert_eq!((part.id.task.as_str(), part.id.graph.as_str()), ("gpt2-gelu-tanh", "000"));
        assert_eq!(part.author, "dir:wrong");
        assert!(part.whole >= part.part.graph.num_nodes() && part.is_minimal && !part.part.source.is_empty());

        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/000")).unwrap();
        for text in ["{}", "rubbish", "{\"bisected\": {\"status\": \"no such\"}}"] {
            fs::write(folder.path().join("a/000/graph_net.json"), text).unwrap();
            assert_eq!(bisected(&[folder.path().to_owned()]).unwrap().len(), 0, "{text}");
        }
        assert!(bisected(&[folder.path().join("none")]).is_err());
    }
}
