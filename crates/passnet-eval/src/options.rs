//! Options of a referee.

use std::path::PathBuf;

use crate::{defences::Defences, zygote_config::ZygoteConfig};

/// Options of evaluations on this machine.
#[derive(Clone, Debug)]
pub struct RefereeOptions {
    /// The interpreter that workers run in.
    pub zygote: ZygoteConfig,
    /// Layers of defence against a pass directory.
    pub defences: Defences,
    /// Directory for compiled kernels of trusted authors; `None` for no such cache.
    pub cache: Option<PathBuf>,
    /// Number of evaluations that run at the same time. Only measurements are exclusive.
    pub jobs: usize,
}
