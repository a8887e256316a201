//! Loaded kernels in C++: from a judged object, or from a shared library if judging is off.

use std::{ffi::CString, sync::OnceLock};

use passnet_native::kernel_code::{Entry, PlacedImage, copy_elements, hide_state};
use passnet_objects::{ObjectFinding, StackUse, compile, judge, ptx, source};
use pyo3::{
    exceptions::{PyOSError, PyPermissionError, PyRuntimeError, PyValueError},
    prelude::*,
};

use super::function::Function;

/// Set to `1` to load unjudged kernels, in a process that is not a referee's worker.
const UNJUDGED_VARIABLE: &str = "PASSNET_UNJUDGED_KERNELS";

/// True if kernels of this process are judged. The first decision holds.
static IS_JUDGING: OnceLock<bool> = OnceLock::new();

fn is_judging() -> bool {
    *IS_JUDGING.get_or_init(|| std::env::var_os(UNJUDGED_VARIABLE).is_none_or(|value| value != "1"))
}

/// Decides once for this process whether kernels are judged. A worker does this before it imports any pass. If kernels are judged, their
/// stacks contain no values of earlier calls.
///
/// Raises `PermissionError` if the opposite was decided before.
#[pyfunction]
pub(crate) fn judge_kernels(on: bool) -> PyResult<()> {
    if *IS_JUDGING.get_or_init(|| on) == on {
        if on {
            hide_state();
        }
        return Ok(());
    }
    Err(PyPermissionError::new_err("whether kernels are judged is decided once for a process"))
}

/// Returns whether kernels of this process are judged.
#[pyfunction]
pub(crate) fn kernels_are_judged() -> bool {
    is_judging()
}

/// Returns the text to compile for a kernel. `signatures` are pairs of a name and a declaration.
#[pyfunction]
pub(crate) fn kernel_text(prelude: &str, source: &str, mark: &str, signatures: Vec<(String, String)>) -> String {
    let signatures = signatures.iter().map(|(name, declaration)| (name.as_str(), declaration.as_str()));
    compile::text(prelude, source, mark, signatures)
}

/// Returns all flags of the compiler, in order, including those of the author. With `initialise`, the compiler initialises all locals.
#[pyfunction]
pub(crate) fn kernel_flags(flags: Vec<String>, initialise: bool) -> Vec<String> {
    compile::flags(&flags, initialise)
}

/// Returns the findings about the flags and the text of a kernel before the compiler gets them.
#[pyfunction]
pub(crate) fn judge_kernel_source(flags: Vec<String>, source: &str) -> Vec<String> {
    let mut findings = source::judge_flags(&flags);
    findings.extend(source::judge_raw(source));
    findings.iter().map(ObjectFinding::to_string).collect()
}

/// Returns the findings about the preprocessed text of a kernel.
#[pyfunction]
pub(crate) fn judge_kernel_text(preprocessed: &str, mark: &str) -> Vec<String> {
    let findings = source::judge_preprocessed(preprocessed, mark).err().unwrap_or_default();
    findings.iter().map(ObjectFinding::to_string).collect()
}

/// Returns the findings about PTX, and about the flags that an author gave to NVRTC.
#[pyfunction]
pub(crate) fn judge_device_code(text: &str, flags: Vec<String>) -> Vec<String> {
    let mut findings = ptx::judge_flags(&flags);
    findings.extend(ptx::judge(text).err().unwrap_or_default());
    findings.iter().map(ObjectFinding::to_string).collect()
}

/// Compiled kernels in memory.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct KernelLibrary {
    code: LoadedCode,
}

#[derive(Debug)]
enum LoadedCode {
    Judged(PlacedImage),
    /// The kernel `copy_elements` of this module.
    Own,
    /// The handle of a shared library, which stays open.
    Unjudged(usize),
}

#[pymethods]
impl KernelLibrary {
    /// Judges the bytes of an object, and loads these bytes. Returns the library, or `None` and the findings.
    #[staticmethod]
    fn judged(object: &[u8]) -> PyResult<(Option<Self>, Vec<String>)> {
        match judge(object) {
            Ok(image) => {
                let loaded = PlacedImage::new(image).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
                Ok((Some(Self { code: LoadedCode::Judged(loaded) }), Vec::new()))
            }
            Err(findings) => Ok((None, findings.iter().map(ObjectFinding::to_string).collect())),
        }
    }

    /// Loads an unjudged shared library.
    ///
    /// Raises `PermissionError` in a process whose kernels are judged.
    #[staticmethod]
    fn unjudged(path: &str) -> PyResult<Self> {
        if is_judging() {
            return Err(PyPermissionError::new_err("kernels of this process are judged"));
        }
        let path = CString::new(path).map_err(|_| PyValueError::new_err("a path has no zeros"))?;
        // SAFETY: the caller has switched judging off, and by this guarantees that libraries may be loaded.
        #[expect(unsafe_code, reason = "libraries come from the dynamic loader")]
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(PyOSError::new_err("the compiled kernel cannot be loaded"));
        }
        Ok(Self { code: LoadedCode::Unjudged(handle as usize) })
    }

    /// Returns the library of this module, which has only the kernel `copy_elements`.
    #[staticmethod]
    fn own() -> Self {
        Self { code: LoadedCode::Own }
    }

    /// Returns whether the stack use of the kernels has a known bound, so that the stack can be cleared before each call.
    #[getter]
    fn has_bounded_stack(&self) -> bool {
        matches!(&self.code, LoadedCode::Judged(loaded) if matches!(loaded.stack(), StackUse::Bytes(_)))
    }
}

impl KernelLibrary {
    /// Returns the image; `None` for kernels that were not judged.
    pub(super) fn loaded(&self) -> Option<&PlacedImage> {
        match &self.code {
            LoadedCode::Judged(loaded) => Some(loaded),
            LoadedCode::Own | LoadedCode::Unjudged(_) => None,
        }
    }

    /// Returns the function through which the kernel `name` is called. It is valid as long as the library exists.
    pub(super) fn function(&self, name: &str) -> PyResult<Function> {
        let missing = || PyValueError::new_err(format!("the source does not define `{name}`"));
        match &self.code {
            LoadedCode::Judged(loaded) => Ok(Function {
                entry: loaded.entry(name).ok_or_else(missing)?,
                stack: Some(loaded.stack()),
                range: None,
            }),
            LoadedCode::Own if name == "copy_elements" => {
                Ok(Function { entry: copy_elements, stack: None, range: None })
            }
            LoadedCode::Own => Err(missing()),
            LoadedCode::Unjudged(handle) => {
                let symbol = CString::new(format!("passnet_call_{name}")).map_err(|_| missing())?;
                // SAFETY: the handle is open.
                #[expect(unsafe_code, reason = "symbols come from the dynamic loader")]
                let address = unsafe { libc::dlsym(*handle as *mut libc::c_void, symbol.as_ptr()) };
                if address.is_null() {
                    return Err(missing());
                }
                // SAFETY: the text that was compiled defines a function of this name with this parameter.
                #[expect(unsafe_code, reason = "functions of libraries are known by address")]
                let entry = unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(address) };
                Ok(Function { entry, stack: None, range: None })
            }
        }
    }
}
