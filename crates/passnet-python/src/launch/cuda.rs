//! Kernels of CUDA C++: `passnet.kernels.cuda`.

use std::sync::{Mutex, PoisonError};

use passnet_native::cuda::{self, Grid};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyTuple},
};

use super::{
    argument::{current_stream, grid_of},
    recording::{Launch, RecordedWork, note, unobserved, words_in_order},
    signature::{Described, KernelDevice, Signature},
};
use crate::errors::cuda_error;

/// A kernel written in CUDA C++.
///
/// `compile(device)` returns the machine code for a device.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct CudaLauncher {
    signature: Signature,
    compile: Py<PyAny>,
    stream: Py<PyAny>,
    loaded: Mutex<Vec<LoadedFunction>>,
}

/// A function with the block shape of its last launch. The modules live as long as the launcher.
#[derive(Debug)]
struct LoadedFunction {
    device: i32,
    module: cuda::Module,
    kernels: Vec<([u32; 3], u32, cuda::Kernel)>,
}

#[pymethods]
impl CudaLauncher {
    #[new]
    fn new(name: String, parameters: Vec<Described>, compile: Py<PyAny>, stream: Py<PyAny>) -> PyResult<Self> {
        let signature = Signature::new(name, parameters)?;
        Ok(Self { signature, compile, stream, loaded: Mutex::default() })
    }

    /// `launcher[grid, block]` or `launcher[grid, block, shared_bytes]`.
    fn __getitem__(this: Py<Self>, shape: &Bound<'_, PyTuple>) -> PyResult<CudaLaunch> {
        let shared_bytes = match shape.len() {
            2 => 0,
            3 => shape.get_item(2)?.extract()?,
            _ => {
                return Err(PyTypeError::new_err("launch as kernel[grid, block] or kernel[grid, block, shared_bytes]"));
            }
        };
        let (grid, block) = (grid_of(&shape.get_item(0)?)?, grid_of(&shape.get_item(1)?)?);
        Ok(CudaLaunch { launcher: this, grid, block, shared_bytes })
    }
}

impl CudaLauncher {
    fn kernel(&self, py: Python<'_>, device: i32, block: [u32; 3], shared_bytes: u32) -> PyResult<cuda::Kernel> {
        let known = |loaded: &[LoadedFunction]| {
            let loaded = loaded.iter().find(|loaded| loaded.device == device)?;
            let same = loaded.kernels.iter().find(|(shape, bytes, _)| (*shape, *bytes) == (block, shared_bytes));
            Some(same.map(|(_, _, kernel)| *kernel))
        };
        // The value is bound first: in the head of the `match`, the lock would be held through all arms.
        let before = known(&self.loaded.lock().unwrap_or_else(PoisonError::into_inner));
        match before {
            Some(Some(kernel)) => return Ok(kernel),
            Some(None) => {}
            None => {
                // The compiler does not run under the lock: it is Python code, and may let another thread run that launches kernels.
                let code = self.compile.bind(py).call1((device,))?;
                let module = cuda::Module::load(code.cast::<PyBytes>()?.as_bytes()).map_err(cuda_error)?;
                let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
                loaded.push(LoadedFunction { device, module, kernels: Vec::new() });
            }
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(loaded) = loaded.iter_mut().find(|loaded| loaded.device == device) else {
            return Err(PyValueError::new_err("the kernel was not loaded"));
        };
        let kernel = loaded.module.kernel(&self.signature.name, block, shared_bytes).map_err(cuda_error)?;
        cuda::note_stack(&kernel).map_err(cuda_error)?;
        loaded.kernels.push((block, shared_bytes, kernel));
        Ok(kernel)
    }
}

/// A kernel with the shape of its launch.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct CudaLaunch {
    launcher: Py<CudaLauncher>,
    grid: Grid,
    block: [u32; 3],
    shared_bytes: u32,
}

#[pymethods]
impl CudaLaunch {
    #[pyo3(signature = (*arguments))]
    fn __call__(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        let launcher = self.launcher.get();
        let device = cuda::current_device().map_err(cuda_error)?;
        let words = unobserved(py, || launcher.signature.words_of(arguments, KernelDevice::Cuda(device)))?;
        let kernel = launcher.kernel(py, device, self.block, self.shared_bytes)?;
        note(|| {
            let work = RecordedWork::Cuda { kernel, grid: self.grid, device, is_aligned: false };
            let words = words_in_order(&launcher.signature.kinds, arguments)?;
            Ok(Some(Launch { work, words, owner: self.launcher.clone_ref(py).into_any() }))
        })?;
        let stream = current_stream(&launcher.stream, py, device)?;
        // SAFETY: as for kernels of C++: tensors of the signature's types on this device.
        #[expect(unsafe_code, reason = "a launch touches the memory that its arguments point to")]
        unsafe {
            kernel.launch(self.grid, stream, words.into_iter().collect()).map_err(cuda_error)?;
        }
        Ok(())
    }
}
