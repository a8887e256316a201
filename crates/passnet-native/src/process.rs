//! Process control that Python's standard library lacks.

use std::io;

fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take one integer and access no memory of this program; the other arguments must be zero.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::prctl(option, argument, 0, 0, 0) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes this process the parent of all its orphaned descendants.
///
/// # Errors
///
/// If the system call fails.
pub fn set_child_subreaper() -> io::Result<()> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
}

/// Requests that the kernel kills this process when its parent dies. Checks that `parent` is still the parent, because it may have died
/// before the request. Process 1 of a namespace has parent 0.
///
/// # Errors
///
/// If the system call fails. The error is `NotFound` if the parent has died.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::NotFound, "the parent process is gone"))
    }
}

/// Makes this process end with code 128 + `signal` when it receives the signal. The first process of a namespace ignores signals without
/// a handler, including signals from itself and the signal for its limit on CPU time.
///
/// # Errors
///
/// If the system call fails.
pub fn exit_on_signal(signal: i32) -> io::Result<()> {
    extern "C" fn leave(signal: libc::c_int) {
        // SAFETY: may be called in a handler; it does not return.
        #[expect(unsafe_code, reason = "a system call")]
        unsafe {
            libc::_exit(128 + signal)
        }
    }
    let handler = leave as extern "C" fn(libc::c_int);
    // SAFETY: the handler is a function of the required type, lives as long as the process, and calls only async-signal-safe functions.
    #[expect(unsafe_code, reason = "a system call")]
    let before = unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_parent_is_another_learns_it() {
        assert_eq!(die_with_parent(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
