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
/// What the system call says.
pub fn set_child_subreaper() -> io::Result<()> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
}

/// Has the kernel kill this process when its parent dies. Checks that `parent` is still the parent, since it may have
/// died before the request.
///
/// # Errors
///
/// What the system call says; `NotFound` if the parent is gone.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
    if std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::NotFound, "the parent process is gone"))
    }
}

/// Forbids this process and its descendants to gain privileges through `execve`.
///
/// # Errors
///
/// What the system call says.
pub fn set_no_new_privileges() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_parent_is_another_learns_it() {
        assert_eq!(die_with_parent(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
