//! Confinement, as the fork server asks for it.

use std::{collections::BTreeMap, path::PathBuf, sync::OnceLock};

use pyo3::prelude::*;

use crate::sandbox;

/// What the fork server has prepared for its workers.
static NAMESPACES: OnceLock<sandbox::Namespaces> = OnceLock::new();

/// Prepares confinement, once and before the process has threads.
#[pyfunction]
pub(super) fn sandbox_prepare() {
    NAMESPACES.get_or_init(sandbox::Namespaces::prepare);
}

/// Whether the next child will be process 1 of a process namespace of its own; if so, `sandbox_beside` must follow.
#[pyfunction]
pub(super) fn sandbox_apart() -> bool {
    NAMESPACES.get().is_some_and(|namespaces| namespaces.next_child_apart().is_ok())
}

/// Has further children be beside this process again.
#[pyfunction]
pub(super) fn sandbox_beside() -> PyResult<()> {
    Ok(NAMESPACES.get().map_or(Ok(()), sandbox::Namespaces::next_child_beside)?)
}

/// What a worker may have, and what of the confinement to that was reached so far.
#[pyclass]
pub(super) struct Sandbox {
    grant: sandbox::Grant,
    reached: sandbox::Reached,
}

#[pymethods]
impl Sandbox {
    /// Paths that do not exist are left out. `skip` names layers to leave out.
    #[new]
    #[pyo3(signature = (*, scratch, scratch_bytes, shared, readable, executable, devices, processes, apart, skip))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        scratch: PathBuf,
        scratch_bytes: u64,
        shared: Vec<PathBuf>,
        readable: Vec<PathBuf>,
        executable: Vec<PathBuf>,
        devices: Vec<PathBuf>,
        processes: u32,
        apart: bool,
        skip: Vec<String>,
    ) -> Self {
        let grant =
            sandbox::Grant { scratch, scratch_bytes, shared, readable, executable, devices, processes, apart, skip };
        Self { grant, reached: sandbox::Reached::default() }
    }

    /// Moves this process into its surroundings, where the scratch is empty.
    fn enter(&mut self) {
        self.reached = sandbox::enter(&self.grant, NAMESPACES.get());
    }

    /// Gives up everything else for good; returns, by layer, `enforced` or why not.
    fn seal(&mut self) -> BTreeMap<&'static str, String> {
        self.reached = sandbox::seal(&self.grant, std::mem::take(&mut self.reached));
        self.reached.0.clone()
    }
}
