//! The few functions of the CUDA driver that timing takes.
//!
//! The library is opened at run time, so that the module loads on machines without a GPU. All calls act on the context
//! that is current on the calling thread, which is the one PyTorch made, and on the legacy default stream, which
//! waits for all other blocking streams.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
};

/// Result of every driver function; 0 is success.
type Status = c_int;
/// `CUdeviceptr`.
type DevicePtr = u64;
/// `CUevent`, `CUstream`: opaque pointers.
type Handle = *mut c_void;

const L2_CACHE_SIZE: c_int = 38;
const LEGACY_STREAM: Handle = ptr::null_mut();

/// Why a call to the driver failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// `libcuda.so.1` is not there or lacks a function.
    #[error("CUDA driver is not available: {0}")]
    Unavailable(String),
    /// The driver refused.
    #[error("CUDA error: {function} failed with {code} ({name})")]
    Failed {
        /// Driver function.
        function: &'static str,
        /// `CUresult`.
        code: i32,
        /// Its name, e.g. `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
    },
}

/// Functions of the driver, resolved once.
#[derive(Clone, Copy, Debug)]
struct Driver {
    ctx_get_device: unsafe extern "C" fn(*mut c_int) -> Status,
    ctx_synchronize: unsafe extern "C" fn() -> Status,
    device_get_attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Status,
    event_create: unsafe extern "C" fn(*mut Handle, c_uint) -> Status,
    event_destroy: unsafe extern "C" fn(Handle) -> Status,
    event_elapsed: unsafe extern "C" fn(*mut f32, Handle, Handle) -> Status,
    event_record: unsafe extern "C" fn(Handle, Handle) -> Status,
    get_error_name: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
    mem_alloc: unsafe extern "C" fn(*mut DevicePtr, usize) -> Status,
    mem_free: unsafe extern "C" fn(DevicePtr) -> Status,
    memset_async: unsafe extern "C" fn(DevicePtr, u8, usize, Handle) -> Status,
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
    // SAFETY: a function pointer of type `F` by the caller's word, of the same size by the assertion, and not null.
    Ok(unsafe { std::mem::transmute_copy(&address) })
}

impl Driver {
    fn open() -> Result<Self, CudaError> {
        // SAFETY: opens a library of the system by its soname; its constructors are the driver's own.
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
                get_error_name: symbol(library, c"cuGetErrorName")?,
                mem_alloc: symbol(library, c"cuMemAlloc_v2")?,
                mem_free: symbol(library, c"cuMemFree_v2")?,
                memset_async: symbol(library, c"cuMemsetD8Async")?,
            })
        }
    }

    fn check(&self, function: &'static str, code: Status) -> Result<(), CudaError> {
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

/// Synchronisation, events and a flush buffer in the current context.
#[derive(Debug)]
pub struct Timer {
    driver: Driver,
    start: Handle,
    stop: Handle,
    flush: Option<(DevicePtr, usize)>,
}

// SAFETY: the handles are plain identifiers of the driver; a `Timer` is used by one thread at a time.
#[expect(unsafe_code, reason = "handles of the driver may move between threads")]
unsafe impl Send for Timer {}

#[expect(unsafe_code, reason = "calls of the driver with handles that this type owns")]
impl Timer {
    /// Takes the current context of this thread. With `flush`, also a buffer of twice the L2 cache.
    ///
    /// # Errors
    ///
    /// No driver, no current context, or no memory for the buffer.
    pub fn new(flush: bool) -> Result<Self, CudaError> {
        let driver = Driver::open()?;
        let mut timer = Self { driver, start: ptr::null_mut(), stop: ptr::null_mut(), flush: None };
        // SAFETY: writes two event handles into fields of `timer`.
        unsafe {
            driver.check("cuEventCreate", (driver.event_create)(&raw mut timer.start, 0))?;
            driver.check("cuEventCreate", (driver.event_create)(&raw mut timer.stop, 0))?;
        }
        if flush {
            let (mut device, mut l2, mut buffer) = (0, 0, 0);
            // SAFETY: each call writes to one local variable of the type it expects.
            unsafe {
                driver.check("cuCtxGetDevice", (driver.ctx_get_device)(&raw mut device))?;
                let status = (driver.device_get_attribute)(&raw mut l2, L2_CACHE_SIZE, device);
                driver.check("cuDeviceGetAttribute", status)?;
                let bytes = 2 * l2 as usize;
                driver.check("cuMemAlloc", (driver.mem_alloc)(&raw mut buffer, bytes))?;
                timer.flush = Some((buffer, bytes));
            }
        }
        Ok(timer)
    }

    /// Waits until all work of the context is done.
    ///
    /// # Errors
    ///
    /// Errors of earlier asynchronous work surface here.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: takes no arguments.
        self.driver.check("cuCtxSynchronize", unsafe { (self.driver.ctx_synchronize)() })
    }

    /// Overwrites the L2 cache, if a buffer was asked for.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn flush(&self) -> Result<(), CudaError> {
        let Some((buffer, bytes)) = self.flush else { return Ok(()) };
        // SAFETY: `buffer` is an allocation of `bytes` bytes that lives as long as `self`.
        let status = unsafe { (self.driver.memset_async)(buffer, 0, bytes, LEGACY_STREAM) };
        self.driver.check("cuMemsetD8Async", status)
    }

    /// Marks the begin of a call on the device.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn record_start(&self) -> Result<(), CudaError> {
        // SAFETY: the event lives as long as `self`.
        self.driver.check("cuEventRecord", unsafe { (self.driver.event_record)(self.start, LEGACY_STREAM) })
    }

    /// Marks the end of a call on the device.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn record_stop(&self) -> Result<(), CudaError> {
        // SAFETY: the event lives as long as `self`.
        self.driver.check("cuEventRecord", unsafe { (self.driver.event_record)(self.stop, LEGACY_STREAM) })
    }

    /// Nanoseconds between the two marks (the driver's resolution is about half a microsecond). Both must have
    /// happened.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn elapsed_ns(&self) -> Result<u64, CudaError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: writes to a local variable; both events live as long as `self`.
        let status = unsafe { (self.driver.event_elapsed)(&raw mut milliseconds, self.start, self.stop) };
        self.driver.check("cuEventElapsedTime", status)?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the handles were made by `new` and are not used again. Errors are of no use here: after a fatal one the
        // context is lost with all its handles.
        #[expect(unsafe_code, reason = "calls of the driver with handles that this type owns")]
        unsafe {
            if let Some((buffer, _)) = self.flush {
                (self.driver.mem_free)(buffer);
            }
            for event in [self.start, self.stop] {
                if !event.is_null() {
                    (self.driver.event_destroy)(event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_context_there_is_a_reason() {
        // Without a driver: unavailable. With one: no context is current on this thread.
        let error = Timer::new(false).unwrap_err();
        assert!(error.to_string().starts_with("CUDA"), "{error}");
    }
}
