//! The module `passnet._native`.

mod author;
mod confine;
mod facts;
mod launch;

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyTuple,
};

use author::write_passes;
use confine::{Sandbox, prepare_namespaces, restore_child_pid_namespace, unshare_child_pid_namespace};
use facts::ModuleFacts;
use launch::{
    CppLauncher, CudaLauncher, KernelLibrary, PreparedFunction, TritonLauncher, judge_kernel_text, judge_kernels,
    kernel_flags, kernel_text, kernels_are_judged, set_kernel_hook,
};
use passnet_graph::matching::match_json;

use crate::{
    cache::{Sweeper, last_level_bytes},
    census, cuda, process, timing, violations,
};

impl From<cuda::CudaError> for PyErr {
    fn from(error: cuda::CudaError) -> Self {
        PyRuntimeError::new_err(error.to_string())
    }
}

/// A Python callable under the clock.
struct PyCalls<'py> {
    callable: Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTuple>>,
    current: usize,
    before: Option<Bound<'py, PyAny>>,
    sweeper: Option<Sweeper>,
    cuda: Option<cuda::Timer>,
    last: Option<Bound<'py, PyAny>>,
}

impl timing::Subject for PyCalls<'_> {
    type Error = PyErr;

    fn prepare(&mut self, trial: usize) -> PyResult<()> {
        self.last = None;
        self.current = trial % self.arguments.len();
        if let Some(before) = &self.before {
            before.call1((self.current,))?;
        }
        if let Some(sweeper) = &mut self.sweeper {
            sweeper.sweep();
        }
        if let Some(cuda) = &self.cuda {
            cuda.flush()?;
            cuda.synchronize()?;
        }
        Ok(())
    }

    fn call(&mut self) -> PyResult<Option<u64>> {
        let Some(cuda) = &self.cuda else {
            self.last = Some(self.callable.call1(&self.arguments[self.current])?);
            return Ok(None);
        };
        cuda.record_start()?;
        self.last = Some(self.callable.call1(&self.arguments[self.current])?);
        cuda.record_stop()?;
        cuda.synchronize()?;
        Ok(Some(cuda.elapsed_ns()?))
    }
}

/// Calls `callable(*arguments[0])` `warmup` times untimed, then `callable(*arguments[i % len(arguments)])` for each of
/// `trials` trials between two readings of CLOCK_MONOTONIC.
///
/// `cuda`: the device is the CUDA device whose context is current; each call is enclosed by device events and ends with
/// a synchronisation of the context. `cold`: the last-level cache (CPU) or the L2 cache (CUDA) is overwritten before
/// each call. `before`: called before each call, outside the clock, with the index into
/// `arguments`.
///
/// Returns `(end-to-end ns, device ns, total ns, result of the last call)`.
#[pyfunction]
#[pyo3(signature = (callable, arguments, warmup, trials, *, cuda = false, cold = false, before = None))]
#[expect(clippy::type_complexity, reason = "a Python tuple")]
fn time_calls<'py>(
    callable: Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, PyTuple>>,
    warmup: u32,
    trials: u32,
    cuda: bool,
    cold: bool,
    before: Option<Bound<'py, PyAny>>,
) -> PyResult<(Vec<u64>, Vec<u64>, u64, Option<Bound<'py, PyAny>>)> {
    if arguments.is_empty() {
        return Err(PyValueError::new_err("no arguments to call with"));
    }
    let mut calls = PyCalls {
        callable,
        arguments,
        current: 0,
        before,
        sweeper: (cold && !cuda).then(|| Sweeper::new(last_level_bytes())),
        cuda: if cuda { Some(cuda::Timer::new(cold)?) } else { None },
        last: None,
    };
    let block = timing::time_block(&mut calls, warmup, trials)?;
    Ok((block.e2e, block.device, block.total, calls.last))
}

/// Waits until all work of the current CUDA context is done.
#[pyfunction]
fn cuda_synchronize() -> PyResult<()> {
    Ok(cuda::Timer::new(false)?.synchronize()?)
}

/// Returns whether two regions of `nbytes` bytes of this process hold the same bytes.
#[pyfunction]
fn same_bytes(address: usize, other: usize, nbytes: usize) -> bool {
    // SAFETY: the caller vouches for the regions: the storages of two tensors of that size that it keeps alive. With no
    // bytes nothing is read, so that null addresses of empty tensors are fine.
    #[expect(unsafe_code, reason = "tensors are known by address")]
    unsafe {
        nbytes == 0 || libc::memcmp(address as *const libc::c_void, other as *const libc::c_void, nbytes) == 0
    }
}

/// Finds all matches of one graph in another, both in wire form. Returns JSON; `docs/reference/matching.md` defines it.
#[pyfunction]
fn match_pattern(target: &str, pattern: &str) -> PyResult<String> {
    match_json(target, pattern).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Becomes the parent of all orphaned descendants.
#[pyfunction]
fn set_child_subreaper() -> PyResult<()> {
    Ok(process::set_child_subreaper()?)
}

/// Dies when the parent process, whose id is `parent`, does.
#[pyfunction]
fn die_with_parent(parent: u32) -> PyResult<()> {
    Ok(process::die_with_parent(parent)?)
}

/// Ends this process with code 128 + `signal` when the signal comes.
#[pyfunction]
fn exit_on_signal(signal: i32) -> PyResult<()> {
    Ok(process::exit_on_signal(signal)?)
}

/// Adds to the record of the interception layer.
#[pyfunction]
fn record_violation(entry: &str) {
    violations::record(entry);
}

/// The record of the interception layer since the process began.
#[pyfunction]
fn recorded_violations() -> Vec<String> {
    violations::all()
}

/// Counts a launch of a kernel; says whether it is to run.
#[pyfunction]
fn count_launch() -> bool {
    census::launch()
}

/// Launches of kernels since the process began.
#[pyfunction]
fn launches() -> u64 {
    census::launches()
}

/// Makes kernels do nothing, or run again.
#[pyfunction]
fn set_idle_kernels(idle: bool) {
    census::set_idle(idle);
}

/// Native parts of PassNet.
#[pymodule]
#[pyo3(name = "_native")]
mod native {
    /// Version of PassNet.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    const KERNEL_RULES: u32 = passnet_objects::compile::VERSION;

    #[pymodule_export]
    use super::{
        CppLauncher, CudaLauncher, KernelLibrary, ModuleFacts, PreparedFunction, Sandbox, TritonLauncher, count_launch,
        cuda_synchronize, die_with_parent, exit_on_signal, judge_kernel_text, judge_kernels, kernel_flags, kernel_text,
        kernels_are_judged, launches, match_pattern, prepare_namespaces, record_violation, recorded_violations,
        restore_child_pid_namespace, same_bytes, set_child_subreaper, set_idle_kernels, set_kernel_hook, time_calls,
        unshare_child_pid_namespace, write_passes,
    };
}
