//! Options of a run of the attack suite.

use std::path::PathBuf;

use passnet_record::Device;
use serde::Serialize;

/// The options of a run of the attack suite.
#[derive(Clone, Debug)]
pub struct AttackOptions {
    /// Directory of the attack suite.
    pub directory: PathBuf,
    /// Keeps entries with an id, name or path that begins like one of these, or of a family of that name; empty keeps all.
    pub filter: Vec<String>,
    /// Device to run on.
    pub device: Device,
    /// Extent of the run of each attack.
    pub coverage: Coverage,
    /// Evaluations at a time.
    pub jobs: usize,
}

/// Extent of the run of each attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// All layers on: is the attack caught?
    Once,
    /// All layers off, too: does the attack work if nothing stops it?
    Quick,
    /// Each layer alone, too: which layers stop it?
    Full,
}
