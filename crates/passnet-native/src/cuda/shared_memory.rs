//! Overwriting of shared memory, which keeps its content from one launch to the next.

use std::{
    ffi::{CStr, c_int},
    sync::OnceLock,
};

use super::{
    driver::{CudaError, LEGACY_STREAM},
    launch::{Kernel, Module, ParameterWords, current_device, device_attribute},
};

const MULTIPROCESSOR_COUNT: c_int = 16;
const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
/// Threads of a block.
const THREADS: u32 = 1024;
/// Number of blocks per multiprocessor. One is enough if the device runs nothing else.
const BLOCKS: u32 = 2;

/// Writes ones to all bits of the dynamic shared memory of a block. The parameter is its size in bytes.
const CODE: &CStr = c".version 7.0
.target sm_70
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry overwrite(.param .u64 size)
{
    .reg .pred %is_behind;
    .reg .b32 %end, %step, %address, %thread, %first;
    .reg .b64 %size;
    ld.param.u64 %size, [size];
    cvt.u32.u64 %end, %size;
    mov.u32 %first, memory;
    add.u32 %end, %end, %first;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %address, %thread, 4, %first;
    mov.u32 %step, %ntid.x;
    shl.b32 %step, %step, 2;
NEXT:
    setp.ge.u32 %is_behind, %address, %end;
    @%is_behind bra DONE;
    st.volatile.shared.u32 [%address], 0xffffffff;
    add.u32 %address, %address, %step;
    bra NEXT;
DONE:
    ret;
}
";

/// The kernel, loaded into the current context.
#[derive(Debug)]
struct Overwriting {
    kernel: Kernel,
    blocks: u32,
    bytes: u32,
    /// Keeps the kernel loaded.
    _module: Module,
}

impl Overwriting {
    /// Returns the kernel, which is loaded at the first call. A process uses one device.
    fn get() -> Result<&'static Self, CudaError> {
        static LOADED: OnceLock<Result<Overwriting, CudaError>> = OnceLock::new();
        LOADED.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, CudaError> {
        let device = current_device()?;
        let bytes = device_attribute(device, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let module = Module::load(CODE.to_bytes_with_nul())?;
        // A block takes all shared memory that it can have, so a multiprocessor runs one block at a time.
        let kernel = module.kernel("overwrite", [THREADS, 1, 1], bytes)?;
        Ok(Self { kernel, blocks: BLOCKS * device_attribute(device, MULTIPROCESSOR_COUNT)?, bytes, _module: module })
    }
}

/// Loads the kernel of [`overwrite_shared_memory`] into the current context.
///
/// # Errors
///
/// If there is no driver, or it refuses the kernel.
pub fn prepare_shared_memory() -> Result<(), CudaError> {
    Overwriting::get().map(|_| ())
}

/// Overwrites the shared memory of all multiprocessors of the current device, in the order of the legacy default stream.
///
/// # Errors
///
/// If the driver refuses the kernel, or reports an error of earlier asynchronous work.
pub fn overwrite_shared_memory() -> Result<(), CudaError> {
    let loaded = Overwriting::get()?;
    let size: ParameterWords = [u64::from(loaded.bytes)].into_iter().collect();
    // SAFETY: the parameter is the one of the code above, which accesses only its own shared memory.
    #[expect(unsafe_code, reason = "launch of a kernel")]
    unsafe {
        loaded.kernel.launch([loaded.blocks, 1, 1], LEGACY_STREAM as usize, size)
    }
}
