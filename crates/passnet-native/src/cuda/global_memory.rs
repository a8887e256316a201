//! Overwriting of many ranges of global memory with few launches.

use std::{
    ffi::{CStr, c_int},
    sync::OnceLock,
};

use super::{
    driver::{CudaError, LEGACY_STREAM},
    launch::{Kernel, Module, ParameterWords, current_device, device_attribute},
    timer::overwrite,
};
use crate::heap::FILLER;

const MULTIPROCESSOR_COUNT: c_int = 16;
/// Threads of a block.
const THREADS: u32 = 512;
/// Ranges of a launch.
const RANGES: usize = 32;
/// Bytes of one store. Ranges begin at a multiple of this.
const STORE: usize = 16;

/// Writes [`FILLER`] to ranges of memory. The parameter has the address and the size in bytes of each range. The y coordinate of a
/// block is the number of its range.
const CODE: &CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry overwrite(.param .align 8 .b8 ranges[512])
{
    .reg .pred %is_behind;
    .reg .b32 %number, %threads, %blocks, %thread;
    .reg .b64 %range, %address, %end, %step;
    mov.u32 %number, %ctaid.y;
    mul.wide.u32 %address, %number, 16;
    mov.b64 %range, ranges;
    add.u64 %range, %range, %address;
    ld.param.u64 %address, [%range];
    ld.param.u64 %end, [%range+8];
    add.u64 %end, %end, %address;
    mov.u32 %threads, %ntid.x;
    mov.u32 %number, %ctaid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %thread, %number, %threads, %thread;
    mul.wide.u32 %step, %thread, 16;
    add.u64 %address, %address, %step;
    mov.u32 %blocks, %nctaid.x;
    mul.lo.u32 %threads, %threads, %blocks;
    mul.wide.u32 %step, %threads, 16;
NEXT:
    setp.ge.u64 %is_behind, %address, %end;
    @%is_behind bra DONE;
    st.volatile.v4.u32 [%address], {0x5c5c5c5c, 0x5c5c5c5c, 0x5c5c5c5c, 0x5c5c5c5c};
    add.u64 %address, %address, %step;
    bra NEXT;
DONE:
    ret;
}
";

/// The kernel, loaded into the current context.
#[derive(Debug)]
struct Overwriting {
    kernel: Kernel,
    /// Blocks for each range.
    blocks: u32,
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
        let module = Module::load(CODE.to_bytes_with_nul())?;
        let kernel = module.kernel("overwrite", [THREADS, 1, 1], 0)?;
        Ok(Self { kernel, blocks: device_attribute(current_device()?, MULTIPROCESSOR_COUNT)?, _module: module })
    }
}

/// Loads the kernel of [`overwrite_ranges`] into the current context.
///
/// # Errors
///
/// If there is no driver, or it refuses the kernel.
pub fn prepare_ranges() -> Result<(), CudaError> {
    Overwriting::get().map(|_| ())
}

/// Writes the byte 0x5C to ranges of memory, each with an address and a size in bytes, in the order of the legacy default stream.
///
/// # Errors
///
/// If there is no driver, or the driver reports an error.
///
/// # Safety
///
/// The ranges must be device memory of the current context that no other code needs any more.
#[expect(unsafe_code, reason = "the caller vouches for the memory")]
pub unsafe fn overwrite_ranges(ranges: &[(usize, usize)]) -> Result<(), CudaError> {
    let (whole, other): (Vec<_>, Vec<_>) =
        ranges.iter().partition(|(address, bytes)| address.is_multiple_of(STORE) && bytes.is_multiple_of(STORE));
    for &(address, bytes) in other {
        // SAFETY: the caller vouches for the memory.
        unsafe { overwrite(address, FILLER, bytes) }?;
    }
    if whole.is_empty() {
        return Ok(());
    }
    let Overwriting { kernel, blocks, .. } = Overwriting::get()?;
    for ranges in whole.chunks(RANGES) {
        // The driver copies the one parameter, an array, from the address of its first word.
        let words = ranges.iter().flat_map(|&&(address, bytes)| [address as u64, bytes as u64]);
        let words: ParameterWords = words.chain(std::iter::repeat_n(0, 2 * (RANGES - ranges.len()))).collect();
        // SAFETY: the parameter is the one of the code above, which writes to the ranges only, and the caller vouches for these.
        unsafe { kernel.launch([*blocks, ranges.len() as u32, 1], LEGACY_STREAM as usize, words) }?;
    }
    Ok(())
}
