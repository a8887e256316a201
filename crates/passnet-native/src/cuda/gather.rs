//! Collects a few bytes of many tensors on a device, which are read together at the end.

use std::ffi::CStr;

use super::{
    driver::{CudaError, DevicePtr, DriverFunctions, LEGACY_STREAM},
    launch::{Kernel, Module, ParameterWords},
};

/// Bytes of a slot for one copy. An element of any type fits.
const SLOT: usize = 16;
/// Copies of a launch. Each is made by one thread of a warp.
const COPIES: usize = 32;
/// First bit of the number of bytes in the word that describes a copy. Addresses of a device have fewer bits.
const SIZE_SHIFT: u32 = 56;

/// Copies a few bytes per thread. The parameter has the address of the first slot, the number of copies, and a word for each copy: its
/// address, and its number of bytes in the upper 8 bits.
const CODE: &CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry gather(.param .align 8 .b8 copies[272])
{
    .reg .pred %is_over;
    .reg .b16 %byte;
    .reg .b32 %thread;
    .reg .b64 %copy, %to, %count, %number, %from, %size, %end;
    mov.b64 %copy, copies;
    ld.param.u64 %to, [%copy];
    ld.param.u64 %count, [%copy+8];
    mov.u32 %thread, %tid.x;
    cvt.u64.u32 %number, %thread;
    setp.ge.u64 %is_over, %number, %count;
    @%is_over bra DONE;
    mul.wide.u32 %size, %thread, 8;
    add.u64 %copy, %copy, %size;
    ld.param.u64 %from, [%copy+16];
    shr.u64 %size, %from, 56;
    and.b64 %from, %from, 0x00ffffffffffffff;
    add.u64 %end, %from, %size;
    mul.wide.u32 %number, %thread, 16;
    add.u64 %to, %to, %number;
NEXT:
    setp.ge.u64 %is_over, %from, %end;
    @%is_over bra DONE;
    ld.volatile.u8 %byte, [%from];
    st.volatile.u8 [%to], %byte;
    add.u64 %from, %from, 1;
    add.u64 %to, %to, 1;
    bra NEXT;
DONE:
    ret;
}
";

/// Memory on the device of the current context, to which bytes of tensors are copied without waiting for the device.
#[derive(Debug)]
pub struct Gather {
    driver: &'static DriverFunctions,
    kernel: Kernel,
    /// Keeps the kernel loaded.
    _module: Module,
    buffer: DevicePtr,
    slots: usize,
    used: usize,
    /// Descriptions of the copies that the next launch makes.
    pending: Vec<u64>,
}

// SAFETY: the handle is a plain identifier of the driver; a value is used by one thread at a time.
#[expect(unsafe_code, reason = "handles of the driver may move between threads")]
unsafe impl Send for Gather {}

#[expect(unsafe_code, reason = "calls of the driver with handles that this type owns")]
impl Gather {
    /// Allocates memory for `slots` copies, and loads the kernel that makes them.
    ///
    /// # Errors
    ///
    /// If there is no driver, no current context, or no memory.
    pub fn new(slots: usize) -> Result<Self, CudaError> {
        let (driver, mut buffer) = (DriverFunctions::get()?, 0);
        let module = Module::load(CODE.to_bytes_with_nul())?;
        let kernel = module.kernel("gather", [COPIES as u32, 1, 1], 0)?;
        // SAFETY: writes to a local variable of the type it expects.
        driver.check("cuMemAlloc", unsafe { (driver.mem_alloc)(&raw mut buffer, slots * SLOT) })?;
        Ok(Self { driver, kernel, _module: module, buffer, slots, used: 0, pending: Vec::with_capacity(COPIES) })
    }

    /// Forgets all copies.
    pub fn clear(&mut self) {
        self.used = 0;
        self.pending.clear();
    }

    /// Adds a copy of bytes at an address of the device. It is made by [`Gather::launch`], or before if there are many. Returns false if
    /// there is no room.
    ///
    /// # Errors
    ///
    /// Errors of earlier asynchronous work surface here.
    ///
    /// # Safety
    ///
    /// The bytes must be memory of the device that is not released before the stream has made the copy.
    pub unsafe fn push(&mut self, address: u64, bytes: usize) -> Result<bool, CudaError> {
        if self.used == self.slots || bytes > SLOT || address >> SIZE_SHIFT != 0 {
            return Ok(false);
        }
        self.pending.push(address | (bytes as u64) << SIZE_SHIFT);
        self.used += 1;
        if self.pending.len() == COPIES { self.launch().map(|()| true) } else { Ok(true) }
    }

    /// Makes the copies that were added, in the order of the legacy default stream.
    ///
    /// # Errors
    ///
    /// Errors of earlier asynchronous work surface here.
    pub fn launch(&mut self) -> Result<(), CudaError> {
        let count = self.pending.len();
        if count == 0 {
            return Ok(());
        }
        let place = self.buffer + ((self.used - count) * SLOT) as u64;
        // The driver copies the one parameter, an array, from the address of its first word.
        let copies = self.pending.drain(..).chain(std::iter::repeat_n(0, COPIES - count));
        let words: ParameterWords = [place, count as u64].into_iter().chain(copies).collect();
        // SAFETY: the parameter is the one of the code above. It reads memory that the callers of `push` vouch for, and writes to the
        // slots of these copies, which are in the buffer.
        unsafe { self.kernel.launch([1, 1, 1], LEGACY_STREAM as usize, words) }
    }

    /// Returns the copies that were made, each in a slot of [`Gather::slot`] bytes.
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
