//! Memory of a kernel's containers, such as `std::vector`, in workers of the referee. Each thread has an arena between closed pages.
//!
//! At the end of a call, all arenas are cleared, including blocks that the kernel has not released and bytes between blocks. Containers
//! therefore keep no values for the next call, and neither the heap of the process nor a tensor is behind their memory. Threads of OpenMP
//! also have arenas. Their blocks stay valid until the end of the call, because the caller may read memory that its threads have
//! allocated.

use std::{
    cell::Cell,
    io, ptr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

const PAGE: usize = 4096;
/// Bytes of closed pages on each side.
const GUARD: usize = 1 << 20;
/// Bytes of address space of an arena. Blocks that do not fit have separate mappings.
const ROOM: usize = 256 << 20;
/// Alignment of all blocks, in bytes.
const ALIGNMENT: usize = 64;

/// Arenas of all threads. When a thread ends, its arena is kept for the next thread.
static ARENAS: Mutex<Vec<&'static Mutex<Arena>>> = Mutex::new(Vec::new());
/// True once a kernel with containers was loaded.
static IS_USED: AtomicBool = AtomicBool::new(false);
/// Number of running calls of kernels.
static CALLS: Mutex<usize> = Mutex::new(0);

thread_local! {
    static OWN: Cell<Option<&'static Mutex<Arena>>> = const { Cell::new(None) };
}

/// A block: first byte and end.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    end: usize,
    is_free: bool,
}

/// Memory of one thread's containers.
#[derive(Debug)]
struct Arena {
    base: usize,
    /// End of the pages that are open.
    open: usize,
    /// First byte behind all blocks.
    free: usize,
    /// End of all blocks since the arena was cleared.
    used: usize,
    /// Blocks in order of addresses. Free blocks occur only between others.
    blocks: Vec<Block>,
    /// First byte and end of separate mappings, with their closed pages.
    mappings: Vec<(usize, usize)>,
}

/// A running call; when the last one ends, all arenas are cleared.
pub(super) struct RunningCall(());

impl RunningCall {
    /// Begins a call; `None` if no kernel of this process has containers.
    pub(super) fn begin() -> Option<Self> {
        if !IS_USED.load(Ordering::Relaxed) {
            return None;
        }
        *locked(&CALLS) += 1;
        Some(Self(()))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        // The lock is held while arenas are cleared, so that no call begins meanwhile.
        let mut calls = locked(&CALLS);
        *calls -= 1;
        if *calls == 0 {
            locked(&ARENAS).iter().for_each(|arena| locked(arena).clear());
        }
    }
}

/// Waits until no call is running, so that the last one has cleared all arenas. Other tests of this process call kernels too.
#[cfg(test)]
pub(super) fn wait_for_the_last_call() {
    while *locked(&CALLS) > 0 {
        std::thread::yield_now();
    }
}

/// Makes calls clear the memory of containers from now on.
pub(super) fn expect_use() {
    IS_USED.store(true, Ordering::Relaxed);
}

/// Allocates memory that is zero. Returns its address, or `None` if there is no memory left.
pub(super) fn allocate(bytes: usize, alignment: usize) -> Option<usize> {
    locked(own()?).allocate(bytes.max(1), alignment.max(ALIGNMENT))
}

/// Releases a block. Returns false if no block begins at this address.
pub(super) fn release(address: usize) -> bool {
    let is_own = OWN.get().is_some_and(|own| locked(own).release(address));
    // Another thread of the kernel may have allocated it.
    is_own || locked(&ARENAS).iter().any(|arena| locked(arena).release(address))
}

/// Returns the first byte and the end of this thread's arena, which a forked process also has; `None` if no kernel has containers.
pub(super) fn of_thread() -> Option<(usize, usize)> {
    if !IS_USED.load(Ordering::Relaxed) {
        return None;
    }
    let base = locked(own()?).base;
    Some((base, base + ROOM))
}

fn own() -> Option<&'static Mutex<Arena>> {
    OWN.get().or_else(|| {
        let made: &'static Mutex<Arena> = Box::leak(Box::new(Mutex::new(Arena::new()?)));
        locked(&ARENAS).push(made);
        OWN.set(Some(made));
        Some(made)
    })
}

/// Returns whether an address lies in an arena, or on the closed pages around it.
pub(super) fn is_around(address: usize) -> bool {
    locked(&ARENAS).iter().any(|arena| {
        let base = locked(arena).base;
        (base - GUARD..base + ROOM + GUARD).contains(&address)
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Arena {
    fn new() -> Option<Self> {
        let base = reserve_within_4_gib(ROOM + 2 * GUARD)? + GUARD;
        // Capacity is reserved, so that an allocation for this list rarely runs on the stack of a kernel.
        let blocks = Vec::with_capacity(1024);
        Some(Self { base, open: base, free: base, used: base, blocks, mappings: Vec::new() })
    }

    fn allocate(&mut self, bytes: usize, alignment: usize) -> Option<usize> {
        let start = self.free.checked_next_multiple_of(alignment)?;
        let Some(end) = start.checked_add(bytes).filter(|end| *end <= self.base + ROOM) else {
            return self.map(bytes, alignment);
        };
        if end > self.open {
            let pages = end.next_multiple_of(PAGE);
            open(self.open, pages).ok()?;
            self.open = pages;
        }
        // Values that an earlier block of this call has left.
        fill(start, end.min(self.used));
        self.free = end;
        self.used = self.used.max(end);
        self.blocks.push(Block { start, end, is_free: false });
        Some(start)
    }

    /// Makes a separate mapping for a block.
    fn map(&mut self, bytes: usize, alignment: usize) -> Option<usize> {
        let room = bytes.checked_add(2 * GUARD + alignment)?.checked_next_multiple_of(PAGE)?;
        let base = reserve(room).ok()?;
        let start = (base + GUARD).next_multiple_of(alignment.max(PAGE));
        self.mappings.push((base, base + room));
        open(start, (start + bytes).next_multiple_of(PAGE)).ok()?;
        Some(start)
    }

    fn release(&mut self, address: usize) -> bool {
        if let Some(place) = self.mappings.iter().position(|(start, end)| (*start..*end).contains(&address)) {
            unmap(self.mappings.swap_remove(place));
            return true;
        }
        let Ok(place) = self.blocks.binary_search_by_key(&address, |block| block.start) else { return false };
        self.blocks[place].is_free = true;
        while let Some(last) = self.blocks.pop_if(|block| block.is_free) {
            self.free = last.start;
        }
        // Because of alignment, the start of the block may be further than the end of its neighbour.
        self.free = self.blocks.last().map_or(self.base, |block| block.end);
        true
    }

    /// Makes the arena empty and zero.
    fn clear(&mut self) {
        if self.open > self.base {
            let end = self.used.next_multiple_of(PAGE);
            fill(self.base, end);
            // Pages that an earlier call opened are still writable, so this call may have written to them without a block.
            if self.open > end {
                discard(end, self.open);
            }
        }
        self.mappings.drain(..).for_each(unmap);
        self.blocks.clear();
        (self.free, self.used) = (self.base, self.base);
    }
}

/// Reserves address space without memory.
fn reserve(bytes: usize) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping.
    #[expect(unsafe_code, reason = "a system call")]
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base as usize) }
}

/// Reserves address space in which the upper 32 bits of all addresses are equal, because the filter of a forked process compares only the
/// lower 32 bits.
fn reserve_within_4_gib(bytes: usize) -> Option<usize> {
    let first = reserve(bytes).ok()?;
    if first >> 32 == (first + bytes) >> 32 {
        return Some(first);
    }
    // If the first mapping crosses a multiple of 4 GiB, a second mapping next to it does not.
    let second = reserve(bytes).ok();
    unmap((first, first + bytes));
    second.filter(|second| second >> 32 == (second + bytes) >> 32)
}

/// Makes reserved pages readable and writable.
fn open(start: usize, end: usize) -> io::Result<()> {
    // SAFETY: pages of a mapping of this file that nothing uses yet.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::mprotect(start as *mut libc::c_void, end - start, libc::PROT_READ | libc::PROT_WRITE) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the memory between two addresses to zero, if the range is not empty.
fn fill(start: usize, end: usize) {
    if start < end {
        // SAFETY: open pages of an arena, which no block has.
        #[expect(unsafe_code, reason = "an arena is known by its addresses")]
        unsafe {
            ptr::write_bytes(start as *mut u8, 0, end - start);
        }
    }
}

/// Sets whole pages to zero by returning them to the system.
fn discard(start: usize, end: usize) {
    // SAFETY: open pages of an arena, which no block has.
    #[expect(unsafe_code, reason = "a system call")]
    let status = unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    assert!(status == 0, "the system clears the memory of containers");
}

fn unmap((start, end): (usize, usize)) {
    // SAFETY: a mapping of this file, whose block was released or belongs to a call that has ended.
    #[expect(unsafe_code, reason = "a system call")]
    unsafe {
        libc::munmap(start as *mut libc::c_void, end - start);
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "memory by address")]
mod tests {
    use super::*;

    fn write(address: usize) {
        // SAFETY: tests write to open pages only.
        unsafe { (address as *mut u64).write_volatile(7) }
    }

    fn read(address: usize) -> u64 {
        // SAFETY: as above.
        unsafe { (address as *const u64).read_volatile() }
    }

    #[test]
    fn blocks_are_zero_and_used_again() {
        let mut arena = Arena::new().unwrap();
        let first = arena.allocate(100, 64).unwrap();
        let second = arena.allocate(5000, 64).unwrap();
        write(first);
        write(second);
        assert!(arena.release(first) && !arena.release(first + 8));
        let third = arena.allocate(8, 64).unwrap();
        assert!(third > second, "a hole stays until what lies behind it is released");
        assert!(arena.release(second) && arena.release(third));
        assert_eq!(arena.free, arena.base);
        assert_eq!(arena.allocate(200, 64), Some(first));
        assert_eq!((read(first), read(first + 192)), (0, 0));
        assert_eq!(arena.allocate(8, 4096).unwrap() % 4096, 0);
    }

    #[test]
    fn nothing_is_left_after_a_call() {
        let mut arena = Arena::new().unwrap();
        let large = arena.allocate(100_000, 64).unwrap();
        write(large + 50_000);
        arena.clear();
        let small = arena.allocate(8, 64).unwrap();
        assert_eq!(small, large);
        // Behind the block, on pages that stayed open.
        write(small + 64);
        write(small + 80_000);
        arena.clear();
        assert_eq!([small, small + 64, small + 50_000, small + 80_000].map(read), [0; 4]);
        assert_eq!((arena.blocks.len(), arena.free), (0, arena.base));
    }

    #[test]
    fn large_blocks_have_mappings_of_their_own() {
        let mut arena = Arena::new().unwrap();
        let large = arena.allocate(ROOM + 1, 64).unwrap();
        write(large);
        assert!(!(arena.base..arena.base + ROOM).contains(&large));
        assert!(arena.release(large) && !arena.release(large));
        arena.allocate(ROOM + 1, 1 << 21).unwrap();
        arena.clear();
        assert!(arena.mappings.is_empty());
        assert_eq!(arena.allocate(usize::MAX - 100, 64), None);
    }

    #[test]
    fn threads_release_blocks_of_others_and_the_last_call_clears_all() {
        expect_use();
        let outer = RunningCall::begin();
        let own = allocate(64, 64).unwrap();
        write(own);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let inner = RunningCall::begin();
                let other = allocate(64, 64).unwrap();
                write(other);
                assert!(release(own) && is_around(other) && !is_around(&raw const inner as usize));
            });
        });
        assert_eq!(allocate(64, 64), Some(own));
        write(own);
        drop(outer);
        wait_for_the_last_call();
        let again = RunningCall::begin();
        assert_eq!((allocate(64, 64), read(own)), (Some(own), 0));
        drop(again);
    }
}
