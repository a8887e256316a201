//! Functions of libraries in a process that has one thread and no heap.
//!
//! OpenMP's functions behave as in a team of one thread. Memory comes from a mapping, and is not released. Only pages of blocks
//! are open, and blocks end at a closed page, so that an access outside of a container is a fault.

use std::{
    ffi::{c_int, c_long, c_uint, c_void},
    ptr,
    sync::atomic::Ordering,
};

use super::control::{Control, Report, control, leave};

/// Memory of containers: address space, no memory until it is used.
const HEAP: usize = 512 << 20;
const ALIGNMENT: usize = 64;
const PAGE: usize = 4096;
/// Blocks that end at a closed page. More would be more mappings than a process can have.
const MOST_CLOSED: usize = 1 << 13;

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

/// Reserves the memory of containers: closed pages, none of them before a multiple of 4 GiB and some behind it.
#[expect(unsafe_code, reason = "a system call")]
pub(super) fn make_heap(control: &Control) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // A second mapping lies elsewhere, next to the first one.
    for _ in 0..2 {
        // SAFETY: a fresh mapping.
        let base = unsafe { libc::mmap(ptr::null_mut(), 2 * HEAP, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return false;
        }
        let (base, end) = (base as usize, base as usize + HEAP);
        if base >> 32 == end >> 32 {
            control.free.store(base + PAGE, Ordering::SeqCst);
            control.end.store(end, Ordering::SeqCst);
            return true;
        }
    }
    false
}

/// First byte and bytes of the memory that the process may open.
pub(super) fn heap(control: &Control) -> (usize, usize) {
    (control.end.load(Ordering::SeqCst).saturating_sub(HEAP), HEAP)
}

/// Opens pages. The process may make this system call.
fn open(start: usize, end: usize) -> bool {
    // SAFETY: pages of the mapping above that no block has.
    #[expect(unsafe_code, reason = "a system call")]
    unsafe {
        libc::mprotect(start as *mut c_void, end - start, libc::PROT_READ | libc::PROT_WRITE) == 0
    }
}

extern "C" fn allocate(bytes: usize) -> *mut c_void {
    allocate_aligned(bytes, ALIGNMENT)
}

/// Returns memory that is zero, as that of the ordinary functions.
extern "C" fn allocate_aligned(bytes: usize, alignment: usize) -> *mut c_void {
    let Some(control) = control() else { give_up(ptr::null()) };
    let (free, alignment) = (control.free.load(Ordering::SeqCst), alignment.max(ALIGNMENT));
    let is_closed = control.blocks.fetch_add(1, Ordering::SeqCst) < MOST_CLOSED;
    let placed = bytes.max(1).checked_next_multiple_of(alignment).and_then(|bytes| {
        let first = free.next_multiple_of(alignment);
        let end = first.checked_add(bytes)?;
        // At the end of its last page.
        let page = if is_closed { end.checked_next_multiple_of(PAGE.max(alignment))? } else { end };
        let next = if is_closed { page + PAGE } else { page };
        (next <= control.end.load(Ordering::SeqCst)).then_some((page - bytes, page, next))
    });
    let Some((first, page, next)) = placed else { give_up(ptr::null()) };
    control.free.store(next, Ordering::SeqCst);
    if !open(first / PAGE * PAGE, page.next_multiple_of(PAGE)) {
        give_up(ptr::null())
    }
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
