//! The worker's view of the file system.

use std::{fs, io, path::Path};

use super::{
    grant::Grant,
    sys::{MountAttr, mount, mount_setattr, unshare},
};

/// Files and directories that the scratch may hold, per MiB of its size.
const INODES_PER_MIB: u64 = 64;
/// Size of the private `/dev/shm`, in bytes.
const SHM_BYTES: u64 = 64 << 20;

/// Makes a private copy of the mount table, and mounts the scratch on its directory.
pub(super) fn make_private(grant: &Grant) -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)?;
    let private = MountAttr { propagation: libc::MS_PRIVATE, ..MountAttr::default() };
    mount_setattr(Path::new("/"), true, &private)?;
    let inodes = (grant.scratch_bytes >> 20).max(1) * INODES_PER_MIB;
    mount_memory(&grant.scratch, grant.scratch_bytes, inodes)?;
    if Path::new("/dev/shm").is_dir() {
        mount_memory(Path::new("/dev/shm"), SHM_BYTES, 1024)?;
    }
    for directory in &grant.shared {
        mount(directory, directory, "", libc::MS_BIND, "")?;
    }
    Ok(())
}

fn mount_memory(target: &Path, bytes: u64, inodes: u64) -> io::Result<()> {
    let options = format!("size={bytes},nr_inodes={inodes},mode=700");
    mount(Path::new("tmpfs"), target, "tmpfs", libc::MS_NOSUID | libc::MS_NODEV, &options)
}

/// Mounts a `/proc` that shows the processes of this namespace.
pub(super) fn mount_proc() -> io::Result<()> {
    let proc = Path::new("/proc");
    mount(proc, proc, "proc", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC, "")
}

/// Limits the number of processes and threads of this namespace, if namespaces have a separate limit (Linux 6.14). On older kernels, the
/// file is the limit of the whole system and is not changed.
pub(super) fn limit_processes(most: u32) -> io::Result<()> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (6, 14) {
        return Err(io::Error::other("needs Linux 6.14; the referee counts processes instead"));
    }
    fs::write("/proc/sys/kernel/pid_max", most.to_string())
}

/// Makes all mounts read-only except the writable ones of the grant. In `/proc`, only the files of this process can be written: CUDA
/// writes the names of its threads there and does not start without this right.
pub(super) fn make_read_only(grant: &Grant) -> io::Result<()> {
    let set = MountAttr { set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID, ..MountAttr::default() };
    mount_setattr(Path::new("/"), true, &set)?;
    let clear = MountAttr { clear: libc::MOUNT_ATTR_RDONLY, ..MountAttr::default() };
    mount_setattr(&grant.scratch, false, &clear)?;
    if Path::new("/dev/shm").is_dir() {
        mount_setattr(Path::new("/dev/shm"), false, &clear)?;
    }
    for directory in &grant.shared {
        mount_setattr(directory, false, &clear)?;
    }
    let own = fs::canonicalize("/proc/self")?;
    mount(&own, &own, "", libc::MS_BIND, "")?;
    mount_setattr(&own, false, &clear)
}
