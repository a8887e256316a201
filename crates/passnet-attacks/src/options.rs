//! Options of a run of the attack suite.

use std::path::PathBuf;

use passnet_record::{Coverage, Device};

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
