//! Replacements of library functions in a process with one thread and no heap.
//!
//! OpenMP's functions behave as in a team of one thread. Memory of containers comes from a mapping and is not released. Only pages of
//! blocks are open, and blocks end at a closed page, so that an access outside of a container is a fault. In hidden calls, memory comes
//! from the arena of timed calls in the same way as in timed calls, so that addresses of containers do not show that a call is checked.

use std::{
    ffi::{c_char, c_int, c_long, c_uint, c_void},
    ptr,
    sync::atomic::Ordering,
};

use super::{
    super::memory_functions::MemoryFunctions,
    control::{Control, Heap, MOST_BLOCKS, Report, control, leave},
};

/// Bytes of address space for containers. Memory is only used when pages are opened.
const HEAP: usize = 512 << 20;
const ALIGNMENT: usize = 64;
const PAGE: usize = 4096;
/// Largest number of blocks that end at a closed page. More blocks would need more mappings than a process can have.
const MOST_CLOSED: usize = 1 << 13;

/// Returns the address of the replacement of a library function; `None` if the function is not replaced.
pub(super) fn of(name: &str) -> Option<usize> {
    ForkedMemory::address(name).or_else(|| openmp(name))
}

/// Returns the address of the replacement of a function of OpenMP.
fn openmp(name: &str) -> Option<usize> {
    Some(match name {
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

/// Uses the arena of timed calls as the memory of containers, or reserves closed pages for it. The reserved range does not cross a
/// multiple of 4 GiB.
#[expect(unsafe_code, reason = "a system call")]
pub(super) fn make_heap(control: &Control, arena: Option<(usize, usize)>) -> bool {
    let heap = &control.heap;
    let set = |start: usize, free: usize, end: usize| {
        let places = [(&heap.start, start), (&heap.free, free), (&heap.used, free), (&heap.end, end)];
        places.iter().for_each(|(place, value)| place.store(*value, Ordering::SeqCst));
    };
    if let Some((start, end)) = arena {
        heap.is_arena.store(true, Ordering::SeqCst);
        set(start, start, end);
        return true;
    }
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
            set(base, base + PAGE, end);
            return true;
        }
    }
    false
}

/// Returns the first byte and the number of bytes of the memory that the process may open.
pub(super) fn heap(control: &Control) -> (usize, usize) {
    let start = control.heap.start.load(Ordering::SeqCst);
    (start, control.heap.end.load(Ordering::SeqCst) - start)
}

/// Opens pages. The filter allows this system call.
fn open(start: usize, end: usize) -> bool {
    // SAFETY: pages of the mapping above that no block has.
    #[expect(unsafe_code, reason = "a system call")]
    unsafe {
        libc::mprotect(start as *mut c_void, end - start, libc::PROT_READ | libc::PROT_WRITE) == 0
    }
}

/// Memory of containers in a process with one thread, from the mapping or the arena.
struct ForkedMemory;

impl MemoryFunctions for ForkedMemory {
    extern "C" fn allocate(bytes: usize) -> *mut c_void {
        Self::allocate_aligned(bytes, ALIGNMENT)
    }

    extern "C" fn allocate_aligned(bytes: usize, alignment: usize) -> *mut c_void {
        let heap = control().map(|control| &control.heap);
        heap.and_then(|heap| allocate(heap, bytes.max(1), alignment.max(ALIGNMENT)))
            .unwrap_or_else(|| Self::give_up(ptr::null()))
    }

    /// Releases a block of an arena, as `containers` does; other memory is not released.
    extern "C" fn release(memory: *mut c_void) {
        let heap = control().map(|control| &control.heap);
        if let Some(heap) = heap.filter(|heap| heap.is_arena.load(Ordering::SeqCst)) {
            release_block(heap, memory.addr());
        }
    }

    /// Ends the process. The same call in the parent reports the reason.
    extern "C" fn give_up(_message: *const c_char) -> ! {
        leave(Report::Other)
    }
}

/// Allocates zero memory. Returns `None` if it is not there.
fn allocate(heap: &Heap, bytes: usize, alignment: usize) -> Option<*mut c_void> {
    if heap.is_arena.load(Ordering::SeqCst) {
        return from_arena(heap, bytes, alignment);
    }
    let is_closed = heap.count.fetch_add(1, Ordering::SeqCst) < MOST_CLOSED;
    let bytes = bytes.checked_next_multiple_of(alignment)?;
    let end = heap.free.load(Ordering::SeqCst).next_multiple_of(alignment).checked_add(bytes)?;
    // The block is placed at the end of its last page.
    let page = if is_closed { end.checked_next_multiple_of(PAGE.max(alignment))? } else { end };
    let next = if is_closed { page + PAGE } else { page };
    if next > heap.end.load(Ordering::SeqCst) {
        return None;
    }
    let first = page - bytes;
    heap.free.store(next, Ordering::SeqCst);
    open(first / PAGE * PAGE, page.next_multiple_of(PAGE)).then_some(first as *mut c_void)
}

/// Allocates zero memory in an arena, at the address that `containers` would choose.
#[expect(unsafe_code, reason = "an arena is known by its addresses")]
fn from_arena(heap: &Heap, bytes: usize, alignment: usize) -> Option<*mut c_void> {
    let start = heap.free.load(Ordering::SeqCst).checked_next_multiple_of(alignment)?;
    let end = start.checked_add(bytes).filter(|end| *end <= heap.end.load(Ordering::SeqCst))?;
    if !open(start / PAGE * PAGE, end.next_multiple_of(PAGE)) {
        return None;
    }
    let used = heap.used.fetch_max(end, Ordering::SeqCst);
    if start < used {
        // SAFETY: open pages of the arena, which no block has.
        unsafe { ptr::write_bytes(start as *mut u8, 0, end.min(used) - start) };
    }
    heap.free.store(end, Ordering::SeqCst);
    let number = heap.count.fetch_add(1, Ordering::SeqCst);
    if let Some((first, last)) = heap.blocks.get(number) {
        first.store(start, Ordering::SeqCst);
        last.store(end, Ordering::SeqCst);
    }
    Some(start as *mut c_void)
}

/// Releases the block of an arena that starts at an address.
fn release_block(heap: &Heap, address: usize) {
    let mut count = heap.count.load(Ordering::SeqCst);
    if count > MOST_BLOCKS {
        return;
    }
    let start = |number: usize| heap.blocks[number].0.load(Ordering::SeqCst);
    // Blocks are mostly released in the opposite order of their allocation.
    let Some(number) = (0..count).rev().find(|&number| start(number) == address) else { return };
    heap.blocks[number].0.store(0, Ordering::SeqCst);
    while count > 0 && start(count - 1) == 0 {
        count -= 1;
    }
    let free = count.checked_sub(1).map_or(&heap.start, |last| &heap.blocks[last].1).load(Ordering::SeqCst);
    heap.free.store(free, Ordering::SeqCst);
    heap.count.store(count, Ordering::SeqCst);
}

extern "C" fn parallel(body: extern "C" fn(*mut c_void), data: *mut c_void, _threads: c_uint, _flags: c_uint) {
    body(data);
}

/// Assigns all steps of a loop to the only thread.
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
