//! Options of a run of the attack suite.

use std::path::PathBuf;

use passnet_record::{Coverage, Device};

/// The options of a run of the attack suite.
#[derive(Clone, Debug)]
pub struct AttackOptions {
    /// Directory of the attack suite.
    pub directory: PathBuf,
    /// Keeps entries whose id, name or path begins with one of these texts, or whose family is one of them. An empty list keeps
    /// all.
    pub filter: Vec<String>,
    /// Device to run on.
    pub device: Device,
    /// Part of each attack that is run.
    pub coverage: Coverage,
    /// Number of evaluations at a time.
    pub jobs: usize,
}
