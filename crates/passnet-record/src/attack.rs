//! Entries of the attack suite, and the messages of its naive harness (`attacks/README.md`).

use serde::{Deserialize, Serialize};

use crate::Status;

/// The content of `meta.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackMeta {
    pub schema_version: u32,
    /// Id of the known exploit that the attack is an instance of, or an id of this project (`N01` ...). For honest passes, the name of
    /// the folder.
    #[serde(default)]
    pub id: String,
    /// Kind of attack, e.g. `timing`.
    #[serde(default)]
    pub family: String,
    pub title: String,
    /// Task of `tasks/suite.json` that the entry runs on.
    pub task: String,
    /// Devices on which the attack can work.
    #[serde(default)]
    pub runs_on: DeviceRequirement,
    /// True if the attack is stopped by the architecture, which has no switch. Such an attack must fail in all modes, and must reach its
    /// goal against the harness in `naive/`.
    #[serde(default)]
    pub by_construction: bool,
    /// True if the naive harness times its baseline through `torch.compile`, but the candidate without it.
    #[serde(default)]
    pub naive_compiled: bool,
    #[serde(default)]
    pub goal: AttackGoal,
    /// Expected verdict of the referee with all layers on; `None` for honest passes.
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
    /// The verdict `correct` for work that the attack did not do.
    #[default]
    Correct,
    /// A correct verdict with a speed-up above a ratio, although the pass is not faster.
    Speedup {
        /// The ratio.
        above: f64,
    },
    /// The text `pwned` in a file of the bait that the attack is not permitted to write.
    File {
        /// Path of the file, relative to the bait.
        path: String,
    },
    /// The secret of the bait in the verdict.
    Leak,
    /// A process that outlives the evaluation. Its id is in the bait's file `pid`.
    Alive,
}

/// Verdict that the referee has to reach on an entry.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedVerdict {
    /// Status of the verdict.
    pub status: Status,
    /// Code of the reason. In `meta.json`, an empty code stands for any code.
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
    /// True to time the baseline through `torch.compile`.
    pub compiled: bool,
}

/// Result of one job; the harness writes a list of them to its standard output.
#[derive(Clone, Debug, Deserialize)]
pub struct NaiveControl {
    pub name: String,
    pub correct: bool,
    pub speedup: f64,
}
