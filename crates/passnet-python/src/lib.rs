//! The Python module `passnet._native`: Python's view of `passnet-native`, of matching and of the built-in author.
//!
//! The crate never decides a verdict. Code that needs neither Python nor PyTorch's objects is in `passnet-native`.
//!
//! ```python
//! from passnet import _native
//!
//! print(_native.VERSION, _native.kernels_are_judged())
//! ```

mod author;
mod clock_gate;
mod confine;
mod contents;
mod device_timer;
mod errors;
mod facts;
mod free_memory;
mod input_memory;
mod launch;
mod overlap;
mod poison;
mod sample;
mod temporaries;
mod tensor_fields;
mod tensor_types;
mod tensor_versions;
mod timed;

use passnet_native::{census, cuda, process, violations};
use pyo3::{exceptions::PyValueError, prelude::*};

use author::write_passes;
use confine::{Sandbox, prepare_namespaces, restore_child_pid_namespace, unshare_child_pid_namespace};
use contents::has_content;
use device_timer::DeviceTimer;
use errors::cuda_error;
use facts::ModuleFacts;
use input_memory::InputMemory;
use launch::{
    CppLauncher, CudaLauncher, KernelLibrary, PreparedFunction, TritonLauncher, collect_launches, guard_kernels,
    judge_device_code, judge_kernel_source, judge_kernel_text, judge_kernels, kernel_flags, kernel_text,
    kernels_are_judged, protect_inputs, set_kernel_hook,
};
use overlap::share_memory;
use passnet_graph::matching::match_json;
use poison::overwrite;
use tensor_types::TensorTypes;
use tensor_versions::TensorVersions;
use timed::time_calls;

/// Waits until all work of the current CUDA context is done.
#[pyfunction]
fn cuda_synchronize() -> PyResult<()> {
    cuda::synchronize().map_err(cuda_error)
}

/// Returns whether two regions of `nbytes` bytes of this process have equal bytes.
#[pyfunction]
fn same_bytes(address: usize, other: usize, nbytes: usize) -> bool {
    // SAFETY: the caller guarantees that the regions are storages of two tensors of this size that it keeps alive. With no bytes nothing
    // is read, so null addresses of empty tensors are allowed.
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

/// Makes this process the parent of all its orphaned descendants.
#[pyfunction]
fn set_child_subreaper() -> PyResult<()> {
    Ok(process::set_child_subreaper()?)
}

/// Makes this process die when its parent process, whose id is `parent`, dies.
#[pyfunction]
fn die_with_parent(parent: u32) -> PyResult<()> {
    Ok(process::die_with_parent(parent)?)
}

/// Makes this process end with code 128 + `signal` when it receives the signal.
#[pyfunction]
fn exit_on_signal(signal: i32) -> PyResult<()> {
    Ok(process::exit_on_signal(signal)?)
}

/// Adds an entry to the record of the interception layer.
#[pyfunction]
fn record_violation(entry: &str) {
    violations::record(entry);
}

/// Begins the part of the record that belongs to the next call.
#[pyfunction]
fn begin_call() {
    violations::begin_call();
}

/// Returns the record of the interception layer since the process began.
#[pyfunction]
fn recorded_violations() -> Vec<String> {
    violations::all()
}

/// Counts a launch of a kernel. Returns whether the kernel should run.
#[pyfunction]
fn count_launch() -> bool {
    census::launch()
}

/// Returns the number of launches of kernels since the process began.
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
        CppLauncher, CudaLauncher, DeviceTimer, InputMemory, KernelLibrary, ModuleFacts, PreparedFunction, Sandbox,
        TensorTypes, TensorVersions, TritonLauncher, begin_call, collect_launches, count_launch, cuda_synchronize,
        die_with_parent, exit_on_signal, guard_kernels, has_content, judge_device_code, judge_kernel_source,
        judge_kernel_text, judge_kernels, kernel_flags, kernel_text, kernels_are_judged, launches, match_pattern,
        overwrite, prepare_namespaces, protect_inputs, record_violation, recorded_violations,
        restore_child_pid_namespace, same_bytes, set_child_subreaper, set_idle_kernels, set_kernel_hook, share_memory,
        time_calls, unshare_child_pid_namespace, write_passes,
    };
}
