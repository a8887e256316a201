//! The CUDA driver: its functions and its errors.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
    sync::OnceLock,
};

/// Result of every driver function; 0 is success.
pub(super) type Status = c_int;
/// `CUdeviceptr`.
pub(super) type DevicePtr = u64;
/// `CUevent`, `CUstream`: opaque pointers.
pub(super) type Handle = *mut c_void;

pub(super) const LEGACY_STREAM: Handle = ptr::null_mut();

/// Error of a call to the driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// `libcuda.so.1` is missing or lacks a function.
    #[error("CUDA driver is not available: {0}")]
    Unavailable(String),
    /// A function of the driver returned an error.
    #[error("CUDA error: {function} failed with {code} ({name})")]
    Failed {
        /// Driver function.
        function: &'static str,
        /// The error as a `CUresult`.
        code: i32,
        /// Name of the error, e.g. `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
    },
}

/// Functions of the driver, resolved once.
#[derive(Debug)]
pub(super) struct DriverFunctions {
    pub(super) ctx_get_device: unsafe extern "C" fn(*mut c_int) -> Status,
    pub(super) ctx_synchronize: unsafe extern "C" fn() -> Status,
    pub(super) device_get_attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Status,
    pub(super) event_create: unsafe extern "C" fn(*mut Handle, c_uint) -> Status,
    pub(super) event_destroy: unsafe extern "C" fn(Handle) -> Status,
    pub(super) event_elapsed: unsafe extern "C" fn(*mut f32, Handle, Handle) -> Status,
    pub(super) event_record: unsafe extern "C" fn(Handle, Handle) -> Status,
    pub(super) func_get_attribute: unsafe extern "C" fn(*mut c_int, c_int, Handle) -> Status,
    pub(super) func_set_attribute: unsafe extern "C" fn(Handle, c_int, c_int) -> Status,
    pub(super) get_error_name: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
    pub(super) launch_kernel: unsafe extern "C" fn(
        Handle,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        Handle,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> Status,
    pub(super) mem_alloc: unsafe extern "C" fn(*mut DevicePtr, usize) -> Status,
    pub(super) mem_free: unsafe extern "C" fn(DevicePtr) -> Status,
    pub(super) memcpy_async: unsafe extern "C" fn(DevicePtr, DevicePtr, usize, Handle) -> Status,
    pub(super) memcpy_to_host: unsafe extern "C" fn(*mut c_void, DevicePtr, usize) -> Status,
    pub(super) memset_async: unsafe extern "C" fn(DevicePtr, u8, usize, Handle) -> Status,
    pub(super) module_get_function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Status,
    pub(super) module_load_data: unsafe extern "C" fn(*mut Handle, *const c_void) -> Status,
    pub(super) module_unload: unsafe extern "C" fn(Handle) -> Status,
}

/// Looks up a function.
///
/// # Safety
///
/// `library` is an open library, and `F` the function pointer type that its ABI documents for `name`.
#[expect(unsafe_code, reason = "dynamic linking")]
unsafe fn symbol<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, CudaError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: `library` is open and `name` ends with a NUL.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        return Err(CudaError::Unavailable(format!("libcuda.so.1 has no {}", name.to_string_lossy())));
    }
    // SAFETY: the caller guarantees that this is a function pointer of type `F`. The assertion guarantees the same size, and the pointer
    // is not null.
    Ok(unsafe { std::mem::transmute_copy(&address) })
}

impl DriverFunctions {
    /// Returns the driver, which is opened on first use. A failure is remembered as well, because no driver appears while the process
    /// runs.
    pub(super) fn get() -> Result<&'static Self, CudaError> {
        static DRIVER: OnceLock<Result<DriverFunctions, CudaError>> = OnceLock::new();
        DRIVER.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Self, CudaError> {
        // SAFETY: opens a library of the system by its soname; only constructors of the driver run.
        #[expect(unsafe_code, reason = "dynamic linking")]
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err(CudaError::Unavailable("libcuda.so.1 cannot be opened".to_owned()));
        }
        // SAFETY: the library is open, and the fields have the types that the driver's headers give these names.
        #[expect(unsafe_code, reason = "dynamic linking")]
        unsafe {
            Ok(Self {
                ctx_get_device: symbol(library, c"cuCtxGetDevice")?,
                ctx_synchronize: symbol(library, c"cuCtxSynchronize")?,
                device_get_attribute: symbol(library, c"cuDeviceGetAttribute")?,
                event_create: symbol(library, c"cuEventCreate")?,
                event_destroy: symbol(library, c"cuEventDestroy_v2")?,
                event_elapsed: symbol(library, c"cuEventElapsedTime")?,
                event_record: symbol(library, c"cuEventRecord")?,
                func_get_attribute: symbol(library, c"cuFuncGetAttribute")?,
                func_set_attribute: symbol(library, c"cuFuncSetAttribute")?,
                get_error_name: symbol(library, c"cuGetErrorName")?,
                launch_kernel: symbol(library, c"cuLaunchKernel")?,
                mem_alloc: symbol(library, c"cuMemAlloc_v2")?,
                mem_free: symbol(library, c"cuMemFree_v2")?,
                memcpy_async: symbol(library, c"cuMemcpyDtoDAsync_v2")?,
                memcpy_to_host: symbol(library, c"cuMemcpyDtoH_v2")?,
                memset_async: symbol(library, c"cuMemsetD8Async")?,
                module_get_function: symbol(library, c"cuModuleGetFunction")?,
                module_load_data: symbol(library, c"cuModuleLoadData")?,
                module_unload: symbol(library, c"cuModuleUnload")?,
            })
        }
    }

    pub(super) fn check(&self, function: &'static str, code: Status) -> Result<(), CudaError> {
        if code == 0 {
            return Ok(());
        }
        let mut name: *const c_char = ptr::null();
        // SAFETY: the driver stores a pointer to a static string, or leaves it null for an unknown code.
        #[expect(unsafe_code, reason = "call of the driver")]
        let name = unsafe {
            (self.get_error_name)(code, &raw mut name);
            if name.is_null() { "unknown".to_owned() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
        };
        Err(CudaError::Failed { function, code, name })
    }
}
