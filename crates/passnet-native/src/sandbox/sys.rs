//! System calls of the sandbox, with errors instead of status numbers.

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsRawFd as _, BorrowedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
    ptr,
};

fn check(status: libc::c_long) -> io::Result<libc::c_long> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Leaves namespaces for new ones (`CLONE_NEW*`).
pub(super) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes flags only and accesses no memory of this program.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::unshare(flags) };
    check(status.into()).map(drop)
}

/// Moves this thread into a namespace. For a process namespace, moves later children of the thread.
pub(super) fn setns(namespace: BorrowedFd<'_>, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: a live descriptor and a flag.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::setns(namespace.as_raw_fd(), kind) };
    check(status.into()).map(drop)
}

/// Mounts a file system of a kind. If `kind` is empty, binds `source`.
pub(super) fn mount(source: &Path, target: &Path, kind: &str, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (source, target) = (c_path(source)?, c_path(target)?);
    let (kind, data) = (c_path(Path::new(kind))?, c_path(Path::new(data))?);
    // SAFETY: four strings that end with a zero and outlive the call.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) };
    check(status.into()).map(drop)
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
#[derive(Default)]
pub(super) struct MountAttr {
    pub(super) set: u64,
    pub(super) clear: u64,
    pub(super) propagation: u64,
    pub(super) user_namespace: u64,
}

/// Changes a mount; with `recursive`, also all mounts below it.
pub(super) fn mount_setattr(target: &Path, recursive: bool, attributes: &MountAttr) -> io::Result<()> {
    let target = c_path(target)?;
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: a string and a struct that outlive the call, the latter with its true size.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            flags,
            ptr::from_ref(attributes),
            size_of::<MountAttr>(),
        )
    };
    check(status).map(drop)
}

/// `prctl` with integer arguments.
pub(super) fn prctl(option: libc::c_int, argument: libc::c_ulong, second: libc::c_ulong) -> io::Result<libc::c_long> {
    // SAFETY: the options used here take integers and access no memory of this program.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::prctl(option, argument, second, 0, 0) };
    check(status.into())
}

/// Gives up the capabilities of all three sets.
pub(super) fn drop_capabilities() -> io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let none = [0_u32; 6];
    // SAFETY: version 3 reads a header of two words and two triples of words.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    check(status).map(drop)
}

/// Returns whether this process may administer the system that it is in.
pub(super) fn is_admin() -> io::Result<bool> {
    const VERSION_3: u32 = 0x2008_0522;
    const CAP_SYS_ADMIN: u32 = 21;
    let mut header = [VERSION_3, 0];
    let mut sets = [0_u32; 6];
    // SAFETY: version 3 writes two triples of words (and to the header, if it knows another version only).
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) };
    check(status)?;
    Ok(sets[0] & (1 << CAP_SYS_ADMIN) != 0)
}

/// Returns the user and the group of this process.
pub(super) fn user_and_group() -> (u32, u32) {
    // SAFETY: both calls take no arguments and cannot fail.
    #[expect(unsafe_code, reason = "system calls")]
    unsafe {
        (libc::geteuid(), libc::getegid())
    }
}

/// Installs a filter of system calls for all threads. The filter must not switch off speculative execution, because programs under the
/// filter are timed against programs without it.
pub(super) fn set_filter(program: &[seccompiler::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    let flags = libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the program and its length belong together and outlive the call; the kernel does not write to them. The two
    // types of instructions are the same struct of the kernel.
    #[expect(unsafe_code, reason = "a system call")]
    let status =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, ptr::from_ref(&program)) };
    match check(status)? {
        0 => Ok(()),
        thread => Err(io::Error::other(format!("thread {thread} cannot be brought under the filter"))),
    }
}
