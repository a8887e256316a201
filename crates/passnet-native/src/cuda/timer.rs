//! Device events and synchronisation around timed calls.

use std::{ffi::c_int, ptr};

use super::driver::{CudaError, DevicePtr, DriverFunctions, Handle, LEGACY_STREAM};

const L2_CACHE_SIZE: c_int = 38;

/// Synchronisation, events and a flush buffer in the current context.
#[derive(Debug)]
pub struct Timer {
    driver: &'static DriverFunctions,
    start: Handle,
    stop: Handle,
    flush: Option<(DevicePtr, usize)>,
}

// SAFETY: the handles are plain identifiers of the driver; a `Timer` is used by one thread at a time.
#[expect(unsafe_code, reason = "handles of the driver may move between threads")]
unsafe impl Send for Timer {}

#[expect(unsafe_code, reason = "calls of the driver with handles that this type owns")]
impl Timer {
    /// Makes a timer for the current context of this thread.
    ///
    /// # Errors
    ///
    /// If there is no driver or no current context.
    pub fn new() -> Result<Self, CudaError> {
        let driver = DriverFunctions::get()?;
        let mut timer = Self { driver, start: ptr::null_mut(), stop: ptr::null_mut(), flush: None };
        // SAFETY: writes two event handles into fields of `timer`.
        unsafe {
            driver.check("cuEventCreate", (driver.event_create)(&raw mut timer.start, 0))?;
            driver.check("cuEventCreate", (driver.event_create)(&raw mut timer.stop, 0))?;
        }
        Ok(timer)
    }

    /// Allocates the buffer for [`Timer::flush`], of twice the size of the L2 cache, unless the timer has one.
    ///
    /// # Errors
    ///
    /// If there is no memory for the buffer.
    pub fn prepare_flush(&mut self) -> Result<(), CudaError> {
        if self.flush.is_some() {
            return Ok(());
        }
        let (driver, mut device, mut l2, mut buffer) = (self.driver, 0, 0, 0);
        // SAFETY: each call writes to one local variable of the type it expects.
        unsafe {
            driver.check("cuCtxGetDevice", (driver.ctx_get_device)(&raw mut device))?;
            let status = (driver.device_get_attribute)(&raw mut l2, L2_CACHE_SIZE, device);
            driver.check("cuDeviceGetAttribute", status)?;
            let bytes = 2 * l2 as usize;
            driver.check("cuMemAlloc", (driver.mem_alloc)(&raw mut buffer, bytes))?;
            self.flush = Some((buffer, bytes));
        }
        Ok(())
    }

    /// Overwrites the L2 cache, if the timer has a buffer for this ([`Timer::prepare_flush`]).
    ///
    /// # Errors
    ///
    /// If the driver reports an error.
    pub fn flush(&self) -> Result<(), CudaError> {
        let Some((buffer, bytes)) = self.flush else { return Ok(()) };
        // SAFETY: `buffer` is an allocation of `bytes` bytes that lives as long as `self`.
        let status = unsafe { (self.driver.memset_async)(buffer, 0, bytes, LEGACY_STREAM) };
        self.driver.check("cuMemsetD8Async", status)
    }

    /// Copies within the memory of the device, in the order of its default stream.
    ///
    /// # Errors
    ///
    /// If the driver reports an error.
    ///
    /// # Safety
    ///
    /// Both addresses must be device memory of the current context with `nbytes` bytes, and stay allocated until the copy has finished.
    pub unsafe fn copy(&self, to: usize, from: usize, nbytes: usize) -> Result<(), CudaError> {
        if nbytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller vouches for the memory.
        let status = unsafe { (self.driver.memcpy_async)(to as DevicePtr, from as DevicePtr, nbytes, LEGACY_STREAM) };
        self.driver.check("cuMemcpyDtoDAsync", status)
    }

    /// Marks the beginning of a call on the device.
    ///
    /// # Errors
    ///
    /// If the driver reports an error.
    pub fn record_start(&self) -> Result<(), CudaError> {
        // SAFETY: the event lives as long as `self`.
        self.driver.check("cuEventRecord", unsafe { (self.driver.event_record)(self.start, LEGACY_STREAM) })
    }

    /// Marks the end of a call on the device.
    ///
    /// # Errors
    ///
    /// If the driver reports an error.
    pub fn record_stop(&self) -> Result<(), CudaError> {
        // SAFETY: the event lives as long as `self`.
        self.driver.check("cuEventRecord", unsafe { (self.driver.event_record)(self.stop, LEGACY_STREAM) })
    }

    /// Returns the nanoseconds between the two marks, with the driver's resolution of about half a microsecond. The device must have
    /// reached both marks.
    ///
    /// # Errors
    ///
    /// If the driver reports an error.
    pub fn elapsed_ns(&self) -> Result<u64, CudaError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: writes to a local variable; both events live as long as `self`.
        let status = unsafe { (self.driver.event_elapsed)(&raw mut milliseconds, self.start, self.stop) };
        self.driver.check("cuEventElapsedTime", status)?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

/// Waits until all work of the current context has finished.
///
/// # Errors
///
/// If there is no driver. Errors of earlier asynchronous work surface here.
#[expect(unsafe_code, reason = "a call of the driver")]
pub fn synchronize() -> Result<(), CudaError> {
    let driver = DriverFunctions::get()?;
    // SAFETY: takes no arguments.
    driver.check("cuCtxSynchronize", unsafe { (driver.ctx_synchronize)() })
}

/// Overwrites memory of the device, in the order of its default stream.
///
/// # Errors
///
/// If there is no driver, or the driver reports an error.
///
/// # Safety
///
/// The address must be device memory of the current context with `nbytes` bytes that no other code needs any more.
#[expect(unsafe_code, reason = "calls of the driver with an address")]
pub unsafe fn overwrite(address: usize, byte: u8, nbytes: usize) -> Result<(), CudaError> {
    let driver = DriverFunctions::get()?;
    // SAFETY: the caller vouches for the memory.
    let status = unsafe { (driver.memset_async)(address as DevicePtr, byte, nbytes, LEGACY_STREAM) };
    driver.check("cuMemsetD8Async", status)
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the handles were made by `new` and are not used again. Errors are ignored: after a fatal error the context is lost with
        // all its handles.
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
        // Without a driver the error is `Unavailable`. With a driver, no context is current on this thread.
        let error = Timer::new().unwrap_err();
        assert!(error.to_string().starts_with("CUDA"), "{error}");
    }
}
