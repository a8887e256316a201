//! Collects a few bytes of many tensors on a device, which are read together at the end.

use super::driver::{CudaError, DevicePtr, DriverFunctions, LEGACY_STREAM};

/// Bytes of a slot for one copy. An element of any type fits.
const SLOT: usize = 16;

/// Memory on the device of the current context, to which bytes of tensors are copied without waiting for the device.
#[derive(Debug)]
pub struct Gather {
    driver: &'static DriverFunctions,
    buffer: DevicePtr,
    slots: usize,
    used: usize,
}

// SAFETY: the handle is a plain identifier of the driver; a value is used by one thread at a time.
#[expect(unsafe_code, reason = "handles of the driver may move between threads")]
unsafe impl Send for Gather {}

#[expect(unsafe_code, reason = "calls of the driver with handles that this type owns")]
impl Gather {
    /// Allocates memory for `slots` copies.
    ///
    /// # Errors
    ///
    /// If there is no driver, no current context, or no memory.
    pub fn new(slots: usize) -> Result<Self, CudaError> {
        let (driver, mut buffer) = (DriverFunctions::get()?, 0);
        // SAFETY: writes to a local variable of the type it expects.
        driver.check("cuMemAlloc", unsafe { (driver.mem_alloc)(&raw mut buffer, slots * SLOT) })?;
        Ok(Self { driver, buffer, slots, used: 0 })
    }

    /// Forgets all copies.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Copies bytes from an address of the device, in the order of the legacy stream. Returns false if there is no room.
    ///
    /// # Errors
    ///
    /// Errors of earlier asynchronous work surface here.
    ///
    /// # Safety
    ///
    /// The bytes must be memory of the device that is not released before the stream has made the copy.
    pub unsafe fn push(&mut self, address: u64, bytes: usize) -> Result<bool, CudaError> {
        if self.used == self.slots || bytes > SLOT {
            return Ok(false);
        }
        let place = self.buffer + (self.used * SLOT) as u64;
        // SAFETY: the caller guarantees the requirements; the place is in the buffer.
        self.driver
            .check("cuMemcpyDtoDAsync", unsafe { (self.driver.memcpy_async)(place, address, bytes, LEGACY_STREAM) })?;
        self.used += 1;
        Ok(true)
    }

    /// Returns all copies, each in a slot of [`Gather::slot`] bytes.
    ///
    /// # Errors
    ///
    /// Errors of earlier asynchronous work surface here.
    pub fn read(&self) -> Result<Vec<u8>, CudaError> {
        let mut bytes = vec![0; self.used * SLOT];
        if !bytes.is_empty() {
            // SAFETY: both sides have this number of bytes, and the call returns when they are copied.
            let status = unsafe { (self.driver.memcpy_to_host)(bytes.as_mut_ptr().cast(), self.buffer, bytes.len()) };
            self.driver.check("cuMemcpyDtoH", status)?;
        }
        Ok(bytes)
    }

    /// Returns the number of bytes of a slot.
    pub const fn slot() -> usize {
        SLOT
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        // SAFETY: this value's own memory, freed once.
        #[expect(unsafe_code, reason = "memory of the driver")]
        unsafe {
            (self.driver.mem_free)(self.buffer);
        }
    }
}
