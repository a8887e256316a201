//! Overwriting of local memory, where threads keep their stacks.
//!
//! Local memory belongs to a place on a multiprocessor, not to a thread. A thread finds there the values of the thread that had its place
//! before, also of an earlier launch.

use std::{
    ffi::c_int,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    driver::{CudaError, LEGACY_STREAM},
    launch::{Kernel, Module, ParameterWords, current_device, device_attribute},
};

const MULTIPROCESSOR_COUNT: c_int = 16;
const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
/// Threads of a block.
const THREADS: u32 = 1024;
/// Number of threads for each place of the device, because the first ones end while the last ones begin.
const ROUNDS: u32 = 2;
/// Smallest stack that is overwritten, in bytes: the default limit of a stack, which every thread can reach.
const MIN_BYTES: u32 = 1024;

/// Largest stack of a thread of the kernels in CUDA C++ of this process, in bytes.
static LARGEST: AtomicU32 = AtomicU32::new(0);

/// Has [`overwrite_stacks`] overwrite stacks as large as those of this kernel.
///
/// # Errors
///
/// If the driver does not know the kernel.
pub fn note_stack(kernel: &Kernel) -> Result<(), CudaError> {
    LARGEST.fetch_max(kernel.local_bytes()?, Ordering::Relaxed);
    Ok(())
}

/// A kernel that writes ones to all bits of its stack, loaded into the current context.
#[derive(Debug)]
struct Overwriting {
    kernel: Kernel,
    blocks: u32,
    /// Size of the stack, in bytes.
    bytes: u32,
    /// Keeps the kernel loaded.
    _module: Module,
}

impl Overwriting {
    fn load(bytes: u32) -> Result<Self, CudaError> {
        let device = current_device()?;
        let places =
            device_attribute(device, MULTIPROCESSOR_COUNT)? * device_attribute(device, MAX_THREADS_PER_MULTIPROCESSOR)?;
        let module = Module::load(code(bytes).as_bytes())?;
        let kernel = module.kernel("overwrite", [THREADS, 1, 1], 0)?;
        Ok(Self { kernel, blocks: ROUNDS * places.div_ceil(THREADS), bytes, _module: module })
    }
}

/// Returns PTX of a kernel with a stack of `bytes`, a multiple of 4, that ends with a NUL.
fn code(bytes: u32) -> String {
    let mut code = String::from(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry overwrite()\n{\n");
    // The stores have addresses of the generic space, because the compiler drops stores to a stack that nothing reads.
    let _ = write!(
        code,
        "    .local .align 16 .b8 stack[{bytes}];
    .reg .pred %is_inside;
    .reg .b64 %address, %end;
    mov.u64 %address, stack;
    cvta.local.u64 %address, %address;
    add.u64 %end, %address, {bytes};
NEXT:
    st.volatile.u32 [%address], 0xffffffff;
    add.u64 %address, %address, 4;
    setp.lt.u64 %is_inside, %address, %end;
    @%is_inside bra NEXT;
    ret;
}}
\0"
    );
    code
}

/// Overwrites the stacks that threads of the current device have left, in the order of the legacy default stream. Does nothing if no kernel
/// in CUDA C++ uses a stack.
///
/// A process uses one device. The kernel is loaded at the first call, and again for larger stacks.
///
/// # Errors
///
/// If the driver refuses the kernel, or reports an error of earlier asynchronous work.
pub fn overwrite_stacks() -> Result<(), CudaError> {
    static LOADED: Mutex<Option<Overwriting>> = Mutex::new(None);
    let largest = LARGEST.load(Ordering::Relaxed);
    if largest == 0 {
        return Ok(());
    }
    let bytes = largest.max(MIN_BYTES).next_multiple_of(16);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.as_ref().is_none_or(|loaded| loaded.bytes < bytes) {
        *loaded = Some(Overwriting::load(bytes)?);
    }
    let Some(loaded) = &*loaded else { return Ok(()) };
    // SAFETY: the code above has no parameters and accesses only its own stack.
    #[expect(unsafe_code, reason = "launch of a kernel")]
    unsafe {
        loaded.kernel.launch([loaded.blocks, 1, 1], LEGACY_STREAM as usize, ParameterWords::from_iter([]))
    }
}
