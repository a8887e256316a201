//! Functions of C++ that the system's compiler has compiled.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    Kind,
    recording::{Launch, Work, note, unobserved, words_in_order},
    words_of,
};
use crate::census;

/// What is entered around each call of a kernel, and whether there is something.
static HOOK: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
static IS_HOOKED: AtomicBool = AtomicBool::new(false);

/// From now on each call of a C++ kernel runs within the context manager that `hook(name)` gives; `None` ends that.
#[pyfunction]
pub(crate) fn set_kernel_hook(hook: Option<Py<PyAny>>) {
    IS_HOOKED.store(hook.is_some(), Ordering::Relaxed);
    *HOOK.lock().unwrap_or_else(PoisonError::into_inner) = hook;
}

pub(super) fn is_hooked() -> bool {
    IS_HOOKED.load(Ordering::Relaxed)
}

/// The entry of a kernel: it takes the kernel's arguments as words in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function(unsafe extern "C" fn(*const u64));

impl Function {
    /// Calls the function, and lets other threads of Python run meanwhile.
    ///
    /// # Safety
    ///
    /// There is a word for each of its parameters, and the memory that it touches through them is there.
    #[expect(unsafe_code, reason = "the caller vouches for the arguments")]
    pub(super) unsafe fn call(self, py: Python<'_>, words: &[u64]) {
        if census::launch() {
            // SAFETY: the caller's word.
            py.detach(|| unsafe { (self.0)(words.as_ptr()) });
        }
    }
}

/// A kernel written in C++.
///
/// `address` is that of its entry, which takes a pointer to words, one for each of `kinds`; `library` keeps it loaded.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct CppLauncher {
    name: String,
    kinds: Vec<Kind>,
    function: Function,
    _library: Py<PyAny>,
}

#[pymethods]
impl CppLauncher {
    #[new]
    fn new(name: String, kinds: &str, address: usize, library: Py<PyAny>) -> PyResult<Self> {
        let kinds = kinds.chars().map(Kind::parse).collect::<PyResult<_>>()?;
        // SAFETY: `passnet.kernels` has this from the loader, by the name of an entry that it had compiled.
        #[expect(unsafe_code, reason = "functions of libraries are known by address")]
        let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*const u64)>(address) };
        Ok(Self { name, kinds, function: Function(function), _library: library })
    }

    #[getter]
    fn __name__(&self) -> &str {
        &self.name
    }

    #[pyo3(signature = (*arguments))]
    fn __call__(this: &Bound<'_, Self>, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        let (py, launcher) = (this.py(), this.get());
        let mut words = vec![0; launcher.kinds.len()];
        unobserved(py, || words_of(&launcher.name, &launcher.kinds, arguments, &mut words))?;
        note(|| {
            let words = words_in_order(&launcher.kinds, arguments)?;
            Ok(Some(Launch { work: Work::Cpp(launcher.function), words, owner: this.clone().into_any().unbind() }))
        })?;
        launcher.hooked(py, || {
            // SAFETY: the words are of the kinds in the kernel's signature, which its author gave and vouches for.
            #[expect(unsafe_code, reason = "a kernel touches the memory that its arguments point to")]
            unsafe {
                launcher.function.call(py, &words);
            }
        })
    }
}

impl CppLauncher {
    /// Does the work within the hook, where there is one.
    fn hooked(&self, py: Python<'_>, work: impl FnOnce()) -> PyResult<()> {
        if !is_hooked() {
            work();
            return Ok(());
        }
        let hook = HOOK.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|hook| hook.clone_ref(py));
        let Some(hook) = hook else {
            work();
            return Ok(());
        };
        let context = hook.bind(py).call1((PyString::new(py, &self.name),))?;
        context.call_method0("__enter__")?;
        work();
        context.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        Ok(())
    }
}
