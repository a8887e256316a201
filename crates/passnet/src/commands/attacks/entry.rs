//! The directories of the attack suite.

use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use passnet_record::{SCHEMA_VERSION, Status, Suite, SuiteTask};
use serde::{Deserialize, Serialize};

/// An attack or an honest pass directory.
pub(super) struct Entry {
    /// Name of its folder.
    pub(super) name: String,
    pub(super) meta: Meta,
    /// The pass directory: all files but `meta.json`, by path relative to it.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// The content of `meta.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meta {
    pub(super) schema_version: u32,
    /// Id of the known exploit it is an instance of, or one of our own (`N01` ...); the folder's name for honest passes.
    #[serde(default)]
    pub(super) id: String,
    /// What kind of attack, e.g. `timing`.
    #[serde(default)]
    pub(super) family: String,
    pub(super) title: String,
    /// Task of `tasks/suite.json` that it runs on.
    pub(super) task: String,
    /// Where it can do what it is about.
    #[serde(default)]
    pub(super) runs_on: Device,
    /// The architecture has no switch for what stops it: it must fail in all modes, and reach its goal against the
    /// harness in `naive/`.
    #[serde(default)]
    pub(super) by_construction: bool,
    /// The naive harness times its baseline through `torch.compile`, and the candidate without.
    #[serde(default)]
    pub(super) naive_compiled: bool,
    #[serde(default)]
    pub(super) goal: Goal,
    /// What the referee says with all layers on; none for honest passes.
    #[serde(default)]
    pub(super) expect: Option<Expect>,
    /// How the exploit was carried over to this design, where that is not obvious.
    #[serde(default)]
    pub(super) note: String,
}

/// What an entry is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Device {
    #[default]
    Cpu,
    Gpu,
    Both,
}

/// What an attack is after.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Goal {
    /// The verdict `correct`, for work that it did not do.
    #[default]
    Correct,
    /// That, with a speed-up above this, although it is no faster.
    Speedup {
        /// The ratio.
        above: f64,
    },
    /// A file of the bait that it may not write, with the text `pwned` in it.
    File {
        /// Relative to the bait.
        path: String,
    },
    /// The bait's secret in the verdict.
    Leak,
    /// A process, whose id is in the bait's file `pid`, that outlives the evaluation.
    Alive,
}

/// A verdict.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) status: Status,
    #[serde(default)]
    pub(super) reason: String,
}

impl Entry {
    fn read(directory: &Path) -> Result<Self> {
        let path = directory.join("meta.json");
        let meta: Meta =
            serde_json::from_str(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
        if meta.schema_version != SCHEMA_VERSION {
            bail!("{}: schema_version {}, but this reads {SCHEMA_VERSION}", path.display(), meta.schema_version);
        }
        let mut files = Vec::new();
        let mut open = vec![directory.to_owned()];
        while let Some(current) = open.pop() {
            for item in fs::read_dir(&current)? {
                let item = item?.path();
                if item.is_dir() {
                    open.push(item);
                } else if item != path {
                    let name = item.strip_prefix(directory)?.to_string_lossy().into_owned();
                    files.push((name, fs::read(&item)?));
                }
            }
        }
        files.sort_unstable();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, meta, files })
    }

    /// Whether it is an honest pass directory, which must not be rejected.
    pub(super) fn is_honest(&self) -> bool {
        self.meta.expect.is_none()
    }

    /// Whether it is made for a GPU, or for a CPU.
    pub(super) fn runs_on(&self, gpu: bool) -> bool {
        match self.meta.runs_on {
            Device::Cpu => !gpu,
            Device::Gpu => gpu,
            Device::Both => true,
        }
    }

    pub(super) fn task<'s>(&self, suite: &'s Suite) -> Result<&'s SuiteTask> {
        let found = suite.tasks.iter().find(|task| task.id == self.meta.task);
        found.with_context(|| format!("{}: there is no task `{}`", self.name, self.meta.task))
    }

    fn fits(&self, filters: &[String]) -> bool {
        filters.is_empty() || filters.iter().any(|filter| self.name.starts_with(filter) || self.meta.family == *filter)
    }
}

/// All attacks, then all honest passes, sorted by name. Filters keep what has a name that begins so, or a family of
/// that name.
pub(super) fn read_all(directory: &Path, filters: &[String]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (root, honest) in [(directory.to_owned(), false), (directory.join("honest"), true)] {
        let mut folders: Vec<_> = fs::read_dir(&root)?
            .map(|item| Ok(item?.path()))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .filter(|path| path.join("meta.json").is_file())
            .collect();
        folders.sort_unstable();
        for folder in folders {
            let entry = Entry::read(&folder)?;
            if entry.is_honest() != honest {
                bail!("{}: attacks, and only those, say what to expect", folder.display());
            }
            entries.push(entry);
        }
    }
    entries.retain(|entry| entry.fits(filters));
    Ok(entries)
}
