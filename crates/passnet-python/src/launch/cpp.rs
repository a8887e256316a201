//! Kernels in C++ that the system's compiler has compiled.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use passnet_native::{
    kernel_code::{self, GuardPlace, GuardedKernel, Range, StrayAccess, TensorMemory},
    violations,
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    function::Function,
    library::KernelLibrary,
    recording::{Launch, RecordedWork, note, unobserved, words_in_order},
    signature::{Described, KernelDevice, Signature},
    traced,
};

/// Context manager that is entered around each call of a kernel, and a flag that is set while there is one.
static HOOK: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
static IS_HOOKED: AtomicBool = AtomicBool::new(false);

/// Makes each call of a C++ kernel run within the context manager that `hook(name)` returns. `None` ends this.
#[pyfunction]
pub(crate) fn set_kernel_hook(hook: Option<Py<PyAny>>) {
    IS_HOOKED.store(hook.is_some(), Ordering::Relaxed);
    *HOOK.lock().unwrap_or_else(PoisonError::into_inner) = hook;
}

/// Makes C++ kernels run in processes that have only their tensors. `side` is `start` or `end` for copies at the start or the end of open
/// pages between closed pages, or `home` for the tensors themselves. `hidden` also uses the tensors themselves, and the kernel cannot
/// detect the check. `None` ends this.
#[pyfunction]
pub(crate) fn guard_kernels(side: Option<&str>) -> PyResult<()> {
    kernel_code::set_side(match side {
        None => None,
        Some("start") => Some(GuardPlace::Start),
        Some("end") => Some(GuardPlace::End),
        Some("home") => Some(GuardPlace::Home),
        Some("hidden") => Some(GuardPlace::Hidden),
        Some(other) => {
            return Err(PyValueError::new_err(format!("`{other}` is not `start`, `end`, `home` or `hidden`")));
        }
    });
    Ok(())
}

/// Sets the memory that C++ kernels cannot write to in guarded calls from now on: addresses and numbers of bytes of inputs.
#[pyfunction]
pub(crate) fn protect_inputs(memory: Vec<(usize, usize)>) {
    kernel_code::protect_inputs(memory.into_iter().map(|(address, nbytes)| address..address + nbytes).collect());
}

pub(super) fn is_hooked() -> bool {
    IS_HOOKED.load(Ordering::Relaxed)
}

/// A kernel written in C++.
///
/// Its entry in `library` takes a pointer to words, one for each parameter.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct CppLauncher {
    signature: Signature,
    function: Function,
    library: Py<KernelLibrary>,
}

#[pymethods]
impl CppLauncher {
    #[new]
    #[pyo3(signature = (name, parameters, library, range = None))]
    fn new(
        name: String,
        parameters: Vec<Described>,
        library: Py<KernelLibrary>,
        range: Option<usize>,
    ) -> PyResult<Self> {
        let range = range.map(|begin| Range::of(begin, parameters.len())).transpose().map_err(PyValueError::new_err)?;
        let function = Function { range, ..library.get().function(&name)? };
        Ok(Self { signature: Signature::new(name, parameters)?, function, library })
    }

    #[getter]
    fn __name__(&self) -> &str {
        &self.signature.name
    }

    #[pyo3(signature = (*arguments))]
    fn __call__(this: &Bound<'_, Self>, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        let (py, launcher) = (this.py(), this.get());
        let words = match unobserved(py, || launcher.signature.words_of(arguments, KernelDevice::Cpu)) {
            Ok(words) => words,
            Err(error) => return if traced::record(this.as_any(), arguments)? { Ok(()) } else { Err(error) },
        };
        note(|| {
            let words = words_in_order(&launcher.signature.kinds, arguments)?;
            Ok(Some(Launch {
                work: RecordedWork::Cpp(launcher.function),
                words,
                owner: this.clone().into_any().unbind(),
            }))
        })?;
        if let Some(side) = kernel_code::side() {
            return launcher.hooked(py, || launcher.call_guarded(py, arguments, &words, side));
        }
        launcher.hooked(py, || {
            // SAFETY: the arguments are those of the kernel's signature, tensors of its types; its author vouches for the
            // number of their elements where the signature does not have it.
            #[expect(unsafe_code, reason = "a kernel touches the memory that its arguments point to")]
            unsafe {
                launcher.function.call(py, &words)
            }
        })
    }
}

impl CppLauncher {
    /// Calls the kernel with access only to its tensors, and records other accesses.
    fn call_guarded(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        words: &[u64],
        side: GuardPlace,
    ) -> PyResult<()> {
        let tensors = unobserved(py, || self.signature.memory_of(arguments))?;
        if !self.function.begin(py)? {
            return Ok(());
        }
        let Function { entry, range, .. } = self.function;
        let callee = self.library.get().loaded().map(|loaded| GuardedKernel { loaded, entry, range });
        // SAFETY: the tensors are alive, and the interpreter's lock is released by the kernel's call only.
        #[expect(unsafe_code, reason = "a kernel touches the memory that its arguments point to")]
        let stray =
            unsafe { kernel_code::call_guarded(words, &tensors, side, callee, |words| self.function.run(py, words))? };
        let kernel = &self.signature.name;
        match stray {
            Some(StrayAccess::Near { parameter, offset, nbytes, is_write }) => {
                if is_write && let Some((parameter, offset)) = written_at(&tensors, parameter, offset) {
                    let argument = self.signature.parameter(parameter);
                    violations::record(&format!("writes_input:{kernel}:{argument}:{offset}"));
                    return Ok(());
                }
                let argument = self.signature.parameter(parameter);
                let access = if is_write { "write" } else { "read" };
                violations::record(&format!("out_of_bounds:{kernel}:{argument}:{offset}:{nbytes}:{access}"));
            }
            Some(StrayAccess::Far { place, access }) => {
                violations::record(&format!("out_of_bounds:{kernel}:{place}:{}", access.name()));
            }
            None => {}
        }
        Ok(())
    }

    /// Does the work within the hook, if there is one.
    fn hooked(&self, py: Python<'_>, work: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
        if !is_hooked() {
            return work();
        }
        let hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|hook| hook.clone_ref(py));
        let Some(hook) = hook else {
            return work();
        };
        let context = hook.bind(py).call1((PyString::new(py, &self.signature.name),))?;
        context.call_method0("__enter__")?;
        let result = work();
        context.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        result
    }
}

/// Returns the tensor that a kernel may write to by its signature, and the offset in it, at an offset of an argument.
fn written_at(tensors: &[TensorMemory], parameter: usize, offset: i64) -> Option<(usize, i64)> {
    let nearest = tensors.iter().find(|tensor| tensor.parameter == parameter)?;
    let inside = |tensor: &TensorMemory| nearest.address as i64 + offset - tensor.address as i64;
    let is_at = |tensor: &&TensorMemory| tensor.is_written && (0..tensor.nbytes as i64).contains(&inside(tensor));
    tensors.iter().find(is_at).map(|tensor| (tensor.parameter, inside(tensor)))
}
