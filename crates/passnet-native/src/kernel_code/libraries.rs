//! Functions that kernels call: those of the C libraries and of the compiler, and functions of this module for memory.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    sync::OnceLock,
};

use passnet_objects::{Import, RuntimeLibrary};

use super::{call::hides_state, containers, memory_functions::MemoryFunctions};

const LIBRARIES: [(RuntimeLibrary, &CStr); 5] = [
    (RuntimeLibrary::C, c"libc.so.6"),
    (RuntimeLibrary::Math, c"libm.so.6"),
    (RuntimeLibrary::VectorMath, c"libmvec.so.1"),
    (RuntimeLibrary::OpenMp, c"libgomp.so.1"),
    (RuntimeLibrary::Compiler, c"libgcc_s.so.1"),
];

/// Returns the address of a function; `None` where this system does not have it.
pub(super) fn resolve(import: &Import) -> Option<usize> {
    if import.library == RuntimeLibrary::Memory {
        containers::expect_use();
        return ProcessMemory::address(&import.name);
    }
    let handle = handle(import.library)?;
    let name = CString::new(import.name.as_str()).ok()?;
    // SAFETY: the handle is open and never closed, the name ends in a zero.
    #[expect(unsafe_code, reason = "symbols come from the dynamic loader")]
    let address = unsafe { libc::dlsym(handle as *mut c_void, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}

/// Returns the address of a function of the OpenMP library that the process already uses, else of GCC's. PyTorch makes its OpenMP library
/// visible to all libraries. A second library would start a second pool of threads.
pub(super) fn openmp(name: &CStr) -> Option<usize> {
    // SAFETY: looks a name up among what is loaded.
    #[expect(unsafe_code, reason = "symbols come from the dynamic loader")]
    let find = |handle: *mut c_void| unsafe { libc::dlsym(handle, name.as_ptr()) as usize };
    let loaded = find(libc::RTLD_DEFAULT);
    let address = if loaded == 0 { find(handle(RuntimeLibrary::OpenMp)? as *mut c_void) } else { loaded };
    (address != 0).then_some(address)
}

/// Returns the address of a function of GCC's OpenMP library, which kernels use.
pub(super) fn kernel_openmp(name: &CStr) -> Option<usize> {
    // SAFETY: the handle is open and never closed.
    #[expect(unsafe_code, reason = "symbols come from the dynamic loader")]
    let address = unsafe { libc::dlsym(handle(RuntimeLibrary::OpenMp)? as *mut c_void, name.as_ptr()) as usize };
    (address != 0).then_some(address)
}

/// Returns the handle of a library, which is opened once.
fn handle(library: RuntimeLibrary) -> Option<usize> {
    static HANDLES: [OnceLock<usize>; 5] = [const { OnceLock::new() }; 5];
    let place = LIBRARIES.iter().position(|(known, _)| *known == library)?;
    let handle = HANDLES[place].get_or_init(|| {
        // SAFETY: loads a library of the system by name.
        #[expect(unsafe_code, reason = "libraries come from the dynamic loader")]
        unsafe {
            libc::dlopen(LIBRARIES[place].1.as_ptr(), libc::RTLD_NOW) as usize
        }
    });
    (*handle != 0).then_some(*handle)
}

/// Memory of containers in timed calls: of the heap, or of an arena that is cleared after the call. The memory is zero, so that it shows no
/// values of an earlier call.
struct ProcessMemory;

#[expect(unsafe_code, reason = "functions of the C library")]
impl MemoryFunctions for ProcessMemory {
    extern "C" fn allocate(bytes: usize) -> *mut c_void {
        if hides_state() {
            return separate(bytes, 1);
        }
        // SAFETY: `calloc` takes any sizes.
        let memory = unsafe { libc::calloc(bytes.max(1), 1) };
        if memory.is_null() {
            Self::give_up(std::ptr::null())
        }
        memory
    }

    extern "C" fn allocate_aligned(bytes: usize, alignment: usize) -> *mut c_void {
        if hides_state() {
            return separate(bytes, alignment);
        }
        let mut memory = std::ptr::null_mut();
        // SAFETY: C++ gives a power of two, the memory is as large as what is written.
        unsafe {
            let is_had = libc::posix_memalign(&raw mut memory, alignment.max(size_of::<usize>()), bytes.max(1)) == 0;
            if !is_had {
                Self::give_up(std::ptr::null())
            }
            libc::memset(memory, 0, bytes)
        }
    }

    extern "C" fn release(memory: *mut c_void) {
        if memory.is_null() || containers::release(memory as usize) {
            return;
        }
        if hides_state() {
            Self::give_up(std::ptr::null())
        }
        // SAFETY: C++ frees what it got from one of the functions above.
        unsafe { libc::free(memory) }
    }

    /// Ends the process: kernels are compiled without exceptions.
    extern "C" fn give_up(_message: *const c_char) -> ! {
        const TEXT: &[u8] = b"a kernel asked for more memory than there is, for a vector of a wrong length, or released what it had not allocated\n";
        // SAFETY: the text is there.
        unsafe {
            libc::write(2, TEXT.as_ptr().cast(), TEXT.len());
            libc::abort()
        }
    }
}

/// Allocates memory that is separate from the heap of the process.
fn separate(bytes: usize, alignment: usize) -> *mut c_void {
    containers::allocate(bytes, alignment).unwrap_or_else(|| ProcessMemory::give_up(std::ptr::null())) as *mut c_void
}
