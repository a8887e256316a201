//! Functions of libraries in a process that has one thread and no heap.
//!
//! OpenMP's functions behave as in a team of one thread. Memory comes from a mapping, and is not released.

use std::{
    ffi::{c_int, c_long, c_uint, c_void},
    ptr,
    sync::atomic::Ordering,
};

use super::control::{Control, Report, control, leave};

/// Memory of containers: address space, no memory until it is used.
const HEAP: usize = 512 << 20;
const ALIGNMENT: usize = 64;

/// Returns the address of the function that stands in for a function of this name.
pub(super) fn of(name: &str) -> Option<usize> {
    Some(match name {
        "_Znwm" | "_Znam" => allocate as *const () as usize,
        "_ZnwmSt11align_val_t" => allocate_aligned as *const () as usize,
        _ if name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv") => nothing as *const () as usize,
        _ if name.starts_with("_ZSt") => give_up as *const () as usize,
        "GOMP_parallel" => parallel as *const () as usize,
        "GOMP_single_start" => yes as *const () as usize,
        "omp_get_thread_num" => zero as *const () as usize,
        "omp_get_num_threads" | "omp_get_max_threads" | "omp_get_num_procs" => one as *const () as usize,
        _ if name.starts_with("GOMP_loop") && name.ends_with("_start") => loop_start as *const () as usize,
        _ if name.starts_with("GOMP_loop") && name.ends_with("_next") => no as *const () as usize,
        _ if name.starts_with("GOMP_") => nothing as *const () as usize,
        _ => return None,
    })
}

/// Maps the memory of containers.
#[expect(unsafe_code, reason = "a system call")]
pub(super) fn make_heap(control: &Control) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping.
    let base = unsafe { libc::mmap(ptr::null_mut(), HEAP, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return false;
    }
    control.free.store(base as usize, Ordering::SeqCst);
    control.end.store(base as usize + HEAP, Ordering::SeqCst);
    true
}

extern "C" fn allocate(bytes: usize) -> *mut c_void {
    allocate_aligned(bytes, ALIGNMENT)
}

/// Returns memory that is zero, as that of the ordinary functions.
extern "C" fn allocate_aligned(bytes: usize, alignment: usize) -> *mut c_void {
    let Some(control) = control() else { give_up(ptr::null()) };
    let first = control.free.load(Ordering::SeqCst).next_multiple_of(alignment.max(1));
    let free = first.checked_add(bytes.max(1)).filter(|free| *free <= control.end.load(Ordering::SeqCst));
    let Some(free) = free else { give_up(ptr::null()) };
    control.free.store(free, Ordering::SeqCst);
    first as *mut c_void
}

/// Ends the process; the same call elsewhere shows what there is to say.
extern "C" fn give_up(_message: *const c_void) -> ! {
    leave(Report::Other)
}

extern "C" fn parallel(body: extern "C" fn(*mut c_void), data: *mut c_void, _threads: c_uint, _flags: c_uint) {
    body(data);
}

/// Gives the one thread all steps of a loop.
#[expect(unsafe_code, reason = "called by C++")]
extern "C" fn loop_start(
    start: c_long,
    end: c_long,
    _step: c_long,
    _chunk: c_long,
    first: *mut c_long,
    last: *mut c_long,
) -> bool {
    // SAFETY: the compiler passes addresses of two locals.
    unsafe {
        first.write(start);
        last.write(end);
    }
    start != end
}

extern "C" fn nothing() {}

extern "C" fn yes() -> bool {
    true
}

extern "C" fn no() -> bool {
    false
}

extern "C" fn zero() -> c_int {
    0
}

extern "C" fn one() -> c_int {
    1
}
