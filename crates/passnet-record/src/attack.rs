//! Entries of the attack suite, and the messages of its naive harness (`attacks/README.md`).

use serde::{Deserialize, Serialize};

use crate::Status;

/// The content of `meta.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackMeta {
    pub schema_version: u32,
    /// Id of the known exploit it is an instance of, or one of our own (`N01` ...); the folder's name for honest passes.
    #[serde(default)]
    pub id: String,
    /// Kind of attack, e.g. `timing`.
    #[serde(default)]
    pub family: String,
    pub title: String,
    /// Task of `tasks/suite.json` that it runs on.
    pub task: String,
    /// Devices on which the attack can work.
    #[serde(default)]
    pub runs_on: DeviceRequirement,
    /// The architecture has no switch for what stops it: it must fail in all modes, and reach its goal against the
    /// harness in `naive/`.
    #[serde(default)]
    pub by_construction: bool,
    /// The naive harness times its baseline through `torch.compile`, and the candidate without.
    #[serde(default)]
    pub naive_compiled: bool,
    #[serde(default)]
    pub goal: AttackGoal,
    /// Verdict of the referee with all layers on; none for honest passes.
    #[serde(default)]
    pub expect: Option<ExpectedVerdict>,
    /// Remark on how the exploit was adapted to this design, if that is not obvious.
    #[serde(default)]
    pub note: String,
}

/// The devices that an entry is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceRequirement {
    #[default]
    Cpu,
    Gpu,
    Both,
}

/// The goal of an attack.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AttackGoal {
    /// The verdict `correct`, for work that it did not do.
    #[default]
    Correct,
    /// A correct verdict with a speed-up above this, although the pass is no faster.
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
pub struct ExpectedVerdict {
    /// Status of the verdict.
    pub status: Status,
    /// Code of the reason. In `meta.json`, an empty one stands for any.
    #[serde(default)]
    pub reason: String,
}

/// One pass directory for the naive harness, which reads a list of them from its standard input.
#[derive(Clone, Debug, Serialize)]
pub struct NaiveJob {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the entry, which the result repeats.
    pub name: String,
    /// Folder of the passes.
    pub passes: String,
    /// Folder of the graph.
    pub task: String,
    /// `cpu` or `cuda`.
    pub device: String,
    /// Times the baseline through `torch.compile`.
    pub compiled: bool,
}

/// Result of one job; the harness writes a list of them to its standard output.
#[derive(Clone, Debug, Deserialize)]
pub struct NaiveControl {
    pub name: String,
    pub correct: bool,
    pub speedup: f64,
}
