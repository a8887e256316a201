//! Suites that are captured on demand. The definition is a list of models; the samples are in the cache.
//!
//! A folder with `capture.json` is such a definition; `docs/reference/whole-models.md` describes it. The folder in the cache is
//! named by the content of the definition, so that a changed list is captured again.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use fs_err as fs;
use passnet_record::{CaptureDefinition, ContentId, SCHEMA_VERSION, Split, SuiteManifest, SuiteTask};

use crate::folders::{FolderError, find_samples};

/// File of a definition.
pub const DEFINITION: &str = "capture.json";

#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a valid definition.
    #[error("{path}: {source}")]
    Json { path: PathBuf, source: serde_json::Error },
    /// The definition has a later version.
    #[error("{path}: schema version {found} is newer than this program; install a newer PassNet")]
    Version {
        path: PathBuf,
        /// The version that was found.
        found: u32,
    },
    /// There is no folder for the samples.
    #[error("no cache folder for the samples; set PASSNET_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache,
    /// The samples cannot be listed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// A suite whose samples are captured on demand.
#[derive(Clone, Debug)]
pub struct Definition {
    fields: CaptureDefinition,
    list: PathBuf,
    folder: PathBuf,
}

impl Definition {
    /// Reads the definition in a folder; `None` if there is none. The samples are in the folder `cache`.
    ///
    /// # Errors
    /// If the definition is damaged, or `cache` is `None`.
    pub fn read(path: &Path, cache: Option<&Path>) -> Result<Option<Self>, DefinitionError> {
        let file = path.join(DEFINITION);
        if !file.is_file() {
            return Ok(None);
        }
        let text = fs::read(&file)?;
        let fields: CaptureDefinition =
            serde_json::from_slice(&text).map_err(|source| DefinitionError::Json { path: file.clone(), source })?;
        if fields.schema_version > SCHEMA_VERSION {
            return Err(DefinitionError::Version { path: file, found: fields.schema_version });
        }
        let list = path.join(&fields.models);
        // The list of models is part of the content, because it is a separate file.
        let id = ContentId::of_parts([text.as_slice(), fs::read(&list)?.as_slice()]);
        let parent = cache.ok_or(DefinitionError::NoCache)?.join("suites").join(id.short());
        Ok(Some(Self { folder: parent.join(&fields.name), list, fields }))
    }

    /// Returns the file with the specifications of the models.
    pub fn list(&self) -> &Path {
        &self.list
    }

    /// Returns the folder of the samples.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether all samples were captured and form a suite.
    pub fn is_captured(&self) -> bool {
        self.folder.join("suite.json").is_file()
    }

    /// Makes a suite of the captured samples: one task for each library, one graph for each model. Returns the number of graphs.
    ///
    /// # Errors
    /// If samples cannot be listed, or `suite.json` cannot be written.
    pub fn finish(&self) -> Result<usize, DefinitionError> {
        let mut tasks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in find_samples(&self.folder)? {
            if let Some((library, model)) = path.split_once('/') {
                tasks.entry(library.to_owned()).or_default().push(model.to_owned());
            }
        }
        let graphs = tasks.values().map(Vec::len).sum();
        let tasks =
            tasks.into_iter().map(|(id, graphs)| SuiteTask { id, ops: Vec::new(), graphs, held_out: Vec::new() });
        let suite = SuiteManifest {
            schema_version: SCHEMA_VERSION,
            name: self.fields.name.clone(),
            // The version comes from the content of the samples, because a library of another version makes other graphs.
            version: String::new(),
            split: Split::Eval,
            description: self.fields.description.clone(),
            weights: self.fields.weights,
            tasks: tasks.collect(),
        };
        let text = serde_json::to_vec_pretty(&suite).map_err(io::Error::from)?;
        let file = self.folder.join("suite.json");
        let staging = self.folder.join(format!(".suite.{}", std::process::id()));
        fs::write(&staging, text)?;
        // The existence of `suite.json` means that the capture is complete, so the file must never be visible half written.
        fs::rename(&staging, &file)?;
        Ok(graphs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_captured_is_the_suite() {
        let root = tempfile::tempdir().unwrap();
        let (path, cache) = (root.path().join("models"), root.path().join("cache"));
        fs::create_dir(&path).unwrap();
        assert!(Definition::read(&path, Some(&cache)).unwrap().is_none());
        let text =
            r#"{"schema_version": 1, "name": "m", "description": "", "models": "list.txt", "weights": "static"}"#;
        fs::write(path.join(DEFINITION), text).unwrap();
        fs::write(path.join("list.txt"), "timm:a\n").unwrap();
        assert!(matches!(Definition::read(&path, None), Err(DefinitionError::NoCache)));
        let definition = Definition::read(&path, Some(&cache)).unwrap().unwrap();
        assert!(!definition.is_captured());
        for model in ["timm/a", "timm/b/subgraph_0", ".logs"] {
            fs::create_dir_all(definition.folder().join(model)).unwrap();
        }
        for model in ["timm/a", "timm/b/subgraph_0"] {
            fs::write(definition.folder().join(model).join("model.py"), "").unwrap();
        }
        assert_eq!(definition.finish().unwrap(), 2);
        assert!(definition.is_captured());
        let suite: SuiteManifest =
            serde_json::from_slice(&fs::read(definition.folder().join("suite.json")).unwrap()).unwrap();
        assert_eq!((suite.tasks.len(), suite.weights), (1, Some(passnet_record::Weights::Static)));
        assert_eq!(suite.tasks[0].graphs, ["a", "b/subgraph_0"]);
        // Another list is another suite.
        fs::write(path.join("list.txt"), "timm:c\n").unwrap();
        assert!(!Definition::read(&path, Some(&cache)).unwrap().unwrap().is_captured());
        fs::write(path.join(DEFINITION), "{}").unwrap();
        assert!(matches!(Definition::read(&path, Some(&cache)), Err(DefinitionError::Json { .. })));
    }
}
