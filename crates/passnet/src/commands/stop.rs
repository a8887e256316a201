//! Interruption of long-running commands.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::BAD;

/// Time in which a command that evaluates should end by itself after an interrupt.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks at the flag.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Becomes true at the first interrupt; the second one ends the process at once, which logs and journals survive.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(BAD), Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Returns a flag as [`stop_flag`] does, for a command that evaluates. If the command has not ended [`GRACE`] after the first interrupt, the
/// process ends, as after a second one. `at_end` is called before: it says that the command was interrupted, and removes its folders.
///
/// An evaluation notices an interrupt between its steps, and one step may draw or compare gigabytes.
pub(super) fn prompt_stop_flag(at_end: impl FnOnce() + Send + 'static) -> Result<Arc<AtomicBool>> {
    let stop = stop_flag()?;
    let seen = Arc::clone(&stop);
    let end = || {
        at_end();
        signal_hook::low_level::exit(i32::from(BAD))
    };
    thread::Builder::new().name("interrupt".to_owned()).spawn(move || end_after(&seen, GRACE, end))?;
    Ok(stop)
}

/// Waits until `stop` is true, and for `grace` after that. Then calls `end`.
fn end_after(stop: &AtomicBool, grace: Duration, end: impl FnOnce()) {
    while !stop.load(Ordering::SeqCst) {
        thread::sleep(LOOK_AGAIN);
    }
    thread::sleep(grace);
    end();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_command_ends_after_an_interrupt_and_not_before() {
        let stop = Arc::new(AtomicBool::new(false));
        let (send, ended) = mpsc::channel();
        let seen = Arc::clone(&stop);
        thread::spawn(move || end_after(&seen, Duration::ZERO, || send.send(()).unwrap()));
        assert_eq!(ended.recv_timeout(2 * LOOK_AGAIN), Err(mpsc::RecvTimeoutError::Timeout));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(ended.recv(), Ok(()));
    }
}
