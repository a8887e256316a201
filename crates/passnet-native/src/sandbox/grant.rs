//! The permissions of a worker.

use std::path::PathBuf;

/// Files, devices and limits that a worker may have. Paths that do not exist are left out.
#[derive(Clone, Debug, Default)]
pub struct Grant {
    /// Private directory that the worker may write to.
    pub scratch: PathBuf,
    /// Largest number of bytes that the scratch may hold.
    pub scratch_bytes: u64,
    /// Further directories that the worker may write to.
    pub shared: Vec<PathBuf>,
    /// Files and directories that the worker may read.
    pub readable: Vec<PathBuf>,
    /// Files and directories whose programs may be started.
    pub executable: Vec<PathBuf>,
    /// Devices that the worker may use.
    pub devices: Vec<PathBuf>,
    /// Largest number of processes and threads at once.
    pub processes: u32,
    /// True if the process was forked after [`super::Namespaces::unshare_for_next_child`].
    pub new_pid_namespace: bool,
    /// Names of layers to leave out.
    pub skip: Vec<String>,
}
