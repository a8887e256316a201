//! Census of the kernels that a pass launches: a count of launches, and a switch that makes kernels do nothing.
//!
//! Both apply to the whole process. The count only grows, so callers compute differences.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static LAUNCHES: AtomicU64 = AtomicU64::new(0);
static IDLE: AtomicBool = AtomicBool::new(false);

/// Counts a launch. Returns whether the kernel should run.
pub fn launch() -> bool {
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    !IDLE.load(Ordering::Relaxed)
}

/// Returns the number of launches since the process began.
pub fn launches() -> u64 {
    LAUNCHES.load(Ordering::Relaxed)
}

/// Makes kernels do nothing from now on, or run again.
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
