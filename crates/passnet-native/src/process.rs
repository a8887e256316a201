//! Process control that Python's standard library lacks.

use std::io;

fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the options used here take one integer and touch no memory of ours; the others must be zero.
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

/// Has the kernel kill this process when its parent dies. Checks that `parent` is still the parent, since it may have
/// died before the request. Process 1 of a namespace has parent 0.
///
/// # Errors
///
/// If the system call fails; `NotFound` if the parent is gone.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::NotFound, "the parent process is gone"))
    }
}

/// Ends this process with code 128 + `signal` when the signal comes. The first process of a namespace ignores signals that
/// it does not handle, those from itself and for a limit on its time included.
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
    // SAFETY: the handler is a function of the type that is asked for, lives as long as the process, and calls only
    // what a handler may.
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
