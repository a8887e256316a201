//! Interruption of long-running commands.

use std::{
    path::Path,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::failure::{BAD, exit_code, say_how_to_continue};

const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];
/// Time in which a command that evaluates should end by itself after an interrupt.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks at the flag.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Becomes true at the first interrupt; the second one ends the process at once, which logs and journals survive.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    end_at_once_after(&stop)?;
    set_at_interrupt(&stop)?;
    Ok(stop)
}

/// Calls `work` for a command whose next call continues it, as [`interruptible`] does. After an interrupt, says how to continue.
pub(super) fn resumable(work: impl FnOnce(&AtomicBool) -> Result<ExitCode>) -> Result<ExitCode> {
    interruptible(say_how_to_continue, work)
}

/// Calls `work` with a temporary folder, as [`interruptible`] does. Removes the folder at the end, also after an interrupt.
pub(super) fn interruptible_with_folder(
    prefix: &str,
    work: impl FnOnce(&Path, &AtomicBool) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
    let path = folder.path().to_owned();
    // Owns the folder: if the closure is dropped without a call, this also removes the folder.
    let at_end = move || {
        eprintln!("interrupted");
        drop(folder);
    };
    interruptible(at_end, |stop| work(&path, stop))
}

/// Calls `work` with a flag that becomes true at the first interrupt. After an interrupt, calls `at_end` and returns [`BAD`] unless `work`
/// succeeded. If `work` has not ended [`GRACE`] after the first interrupt, or at a second one, calls `at_end` and ends the process. A third
/// interrupt ends the process at once.
///
/// An evaluation notices an interrupt between its steps, and one step may draw or compare gigabytes, or wait until the fork server has
/// started.
fn interruptible(
    at_end: impl FnOnce() + Send + 'static,
    work: impl FnOnce(&AtomicBool) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let at_end = Arc::new(Mutex::new(Some(at_end)));
    let also = Arc::clone(&at_end);
    let stop = watched_flag(move || call(&also))?;
    let result = work(&stop);
    let succeeded = result.as_ref().is_ok_and(|&code| code == ExitCode::SUCCESS);
    // After an interrupt, an error only says that processes were killed.
    if stop.load(Ordering::SeqCst) && !succeeded {
        call(&at_end);
        return exit_code(false);
    }
    // The thread that waits for interrupts shares what `at_end` owns, and does not end.
    drop(lock(&at_end).take());
    result
}

/// Calls a function, of several calls only in the first. The lock is held meanwhile, so that no thread ends the process before the
/// function has returned.
fn call(function: &Mutex<Option<impl FnOnce()>>) {
    let mut function = lock(function);
    if let Some(function) = function.take() {
        function();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a flag that becomes true at the first interrupt, and starts the thread that ends the process after it.
fn watched_flag(at_end: impl FnOnce() + Send + 'static) -> Result<Arc<AtomicBool>> {
    let (stop, ending) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    end_at_once_after(&ending)?;
    // Handlers run in the order of their registration. The first interrupt is therefore pending before the flag is set, so the thread
    // does not take it for a second one.
    let mut signals = Signals::new(SIGNALS)?;
    set_at_interrupt(&stop)?;
    let seen = Arc::clone(&stop);
    let end = move || {
        ending.store(true, Ordering::SeqCst);
        at_end();
        signal_hook::low_level::exit(i32::from(BAD))
    };
    let again = move || signals.pending().count() > 0;
    thread::Builder::new().name("interrupt".to_owned()).spawn(move || end_after(&seen, again, GRACE, end))?;
    Ok(stop)
}

/// Makes an interrupt end the process at once if `flag` is true.
fn end_at_once_after(flag: &Arc<AtomicBool>) -> Result<()> {
    for signal in SIGNALS {
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(BAD), Arc::clone(flag))?;
    }
    Ok(())
}

fn set_at_interrupt(flag: &Arc<AtomicBool>) -> Result<()> {
    for signal in SIGNALS {
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Waits until `stop` is true, and after that for `grace`, or until `again` returns true for another interrupt. Then calls `end`.
fn end_after(stop: &AtomicBool, mut again: impl FnMut() -> bool, grace: Duration, end: impl FnOnce()) {
    while !stop.load(Ordering::SeqCst) {
        thread::sleep(LOOK_AGAIN);
    }
    // The interrupt that set the flag.
    again();
    let begin = Instant::now();
    while begin.elapsed() < grace && !again() {
        thread::sleep(LOOK_AGAIN);
    }
    end();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Checks that a command with this grace and these further interrupts ends after the first interrupt, and not before.
    fn check(grace: Duration, mut interrupts: impl Iterator<Item = bool> + Send + 'static) {
        let stop = Arc::new(AtomicBool::new(false));
        let (send, ended) = mpsc::channel();
        let seen = Arc::clone(&stop);
        let again = move || interrupts.next().unwrap_or(false);
        thread::spawn(move || end_after(&seen, again, grace, || send.send(()).unwrap()));
        assert_eq!(ended.recv_timeout(2 * LOOK_AGAIN), Err(mpsc::RecvTimeoutError::Timeout));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(ended.recv(), Ok(()));
    }

    #[test]
    fn a_command_ends_after_an_interrupt_and_not_before() {
        check(Duration::ZERO, [true].into_iter());
    }

    #[test]
    fn a_second_interrupt_ends_a_command_before_its_grace_is_over() {
        check(Duration::MAX, [true, false, true].into_iter());
    }

    #[test]
    fn a_function_is_called_once() {
        let (send, called) = mpsc::channel();
        let function = Mutex::new(Some(move || send.send(()).unwrap()));
        call(&function);
        call(&function);
        assert_eq!(called.iter().count(), 1);
    }
}
