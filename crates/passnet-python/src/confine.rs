//! Python functions for confining workers, called by the fork server.

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock};

use passnet_native::sandbox;
use pyo3::prelude::*;

/// Namespaces that the fork server has made for its workers.
static NAMESPACES: OnceLock<sandbox::Namespaces> = OnceLock::new();

/// Prepares confinement, once and before the process has threads.
#[pyfunction]
pub(super) fn prepare_namespaces() {
    NAMESPACES.get_or_init(sandbox::Namespaces::prepare);
}

/// Makes the next child process 1 of a new PID namespace. Returns whether the machine allows it; if so,
/// `restore_child_pid_namespace` must follow the fork.
#[pyfunction]
pub(super) fn unshare_child_pid_namespace() -> bool {
    NAMESPACES.get().is_some_and(|namespaces| namespaces.unshare_for_next_child().is_ok())
}

/// Makes later children share the PID namespace of this process again.
#[pyfunction]
pub(super) fn restore_child_pid_namespace() -> PyResult<()> {
    Ok(NAMESPACES.get().map_or(Ok(()), sandbox::Namespaces::restore_for_children)?)
}

/// The permissions of a worker, and the layers of confinement reached so far.
#[pyclass]
pub(super) struct Sandbox {
    grant: sandbox::Grant,
    reached: sandbox::Reached,
}

#[pymethods]
impl Sandbox {
    /// Paths that do not exist are left out. `skip` names layers to leave out.
    #[new]
    #[pyo3(signature = (*, scratch, scratch_bytes, shared, readable, executable, devices, processes, new_pid_namespace, skip))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        scratch: PathBuf,
        scratch_bytes: u64,
        shared: Vec<PathBuf>,
        readable: Vec<PathBuf>,
        executable: Vec<PathBuf>,
        devices: Vec<PathBuf>,
        processes: u32,
        new_pid_namespace: bool,
        skip: Vec<String>,
    ) -> Self {
        let grant = sandbox::Grant {
            scratch,
            scratch_bytes,
            shared,
            readable,
            executable,
            devices,
            processes,
            new_pid_namespace,
            skip,
        };
        Self { grant, reached: sandbox::Reached::default() }
    }

    /// Moves this process into its namespaces and its view of the file system, in which the scratch is empty.
    fn enter(&mut self) {
        self.reached = sandbox::enter(&self.grant, NAMESPACES.get());
    }

    /// Gives up all other rights permanently. Returns for each layer `enforced`, or the reason why not.
    fn seal(&mut self) -> BTreeMap<&'static str, String> {
        self.reached = sandbox::seal(&self.grant, std::mem::take(&mut self.reached));
        self.reached.0.clone()
    }
}
