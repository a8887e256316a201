//! Interruption of long-running commands.

use std::sync::{Arc, atomic::AtomicBool};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::BAD;

/// Becomes true at the first interrupt; the second one ends the process at once, which logs and journals survive.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(BAD), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
