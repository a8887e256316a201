//! Census of the kernels that a pass launches: a count, and a switch that makes them do nothing.
//!
//! Both are for the whole process. The count only grows; a caller takes differences.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static LAUNCHES: AtomicU64 = AtomicU64::new(0);
static IDLE: AtomicBool = AtomicBool::new(false);

/// Counts a launch; says whether the kernel is to run.
pub fn launch() -> bool {
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    !IDLE.load(Ordering::Relaxed)
}

/// Launches since the process began.
pub fn launches() -> u64 {
    LAUNCHES.load(Ordering::Relaxed)
}

/// From now on kernels do nothing, or run again.
pub fn set_idle(idle: bool) {
    IDLE.store(idle, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_counted_idle_ones_too() {
        let before = launches();
        assert!(launch());
        set_idle(true);
        assert!(!launch());
        set_idle(false);
        assert_eq!(launches(), before + 2);
    }
}
