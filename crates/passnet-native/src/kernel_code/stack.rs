//! Stacks of kernels: separate memory between closed pages, so that a kernel can read neither its callers' stack nor its earlier values.
//!
//! The whole stack is cleared before each call, so values cannot stay in an unused part below the frames of a kernel. Each thread
//! has one stack for each power of two, which is made at its first use. Recursion and arrays of dynamic size have no known bound:
//! such kernels get a large stack, whose used pages are released after the call.

use std::{
    cell::{Cell, RefCell},
    ptr,
};

use passnet_objects::StackUse;

const PAGE: usize = 4096;
/// Bytes of closed pages on each side.
const GUARD: usize = 1 << 20;
/// Size in bytes of a stack for kernels without a known bound.
const LARGE: usize = 8 << 20;
/// Bytes of a large stack that are cleared before each call.
const CLEARED: usize = 16 << 10;
/// Bytes of the stack for signal handlers, which must not run on the stack of a kernel. It has room for the widest registers.
const HANDLERS: usize = 64 << 10;
/// Number of powers of two from a page to the large stack.
const SIZES: usize = (LARGE / PAGE).ilog2() as usize + 1;

/// A stack: its memory, and how much of it is cleared before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// First byte and end of the memory. Both are at the beginning of a page.
    pub(super) bottom: usize,
    pub(super) top: usize,
    /// Bytes below the top that are cleared before a call. The rest is zero.
    pub(super) cleared: usize,
}

thread_local! {
    static STACKS: RefCell<Stacks> = const { RefCell::new(Stacks { areas: [None; SIZES], handlers: None }) };
    /// Use of the stack by the call that this thread makes.
    static CURRENT: Cell<Option<StackUse>> = const { Cell::new(None) };
}

/// Stacks of a thread, and the mapping for handlers of signals.
struct Stacks {
    areas: [Option<Area>; SIZES],
    handlers: Option<usize>,
}

/// Returns this thread's stack for kernels with the given use of the stack and number of bytes for arguments.
pub(super) fn of(stack: StackUse, arguments: usize) -> Area {
    let size = match stack {
        StackUse::Bytes(bytes) => usize::try_from(bytes).unwrap_or(LARGE).saturating_add(arguments),
        StackUse::Unbounded => LARGE,
    };
    let size = size.clamp(PAGE, LARGE).next_power_of_two();
    STACKS.with_borrow_mut(|stacks| {
        let place = (size / PAGE).ilog2() as usize;
        stacks.areas[place].unwrap_or_else(|| stacks.make(place, size))
    })
}

/// Releases the pages of a large stack that are not cleared before calls.
pub(super) fn release(area: Area) {
    let bytes = area.top - area.bottom - area.cleared;
    if bytes > 0 {
        // SAFETY: the area's own memory, below all that is in use.
        #[expect(unsafe_code, reason = "a system call")]
        let status = unsafe { libc::madvise(area.bottom as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
        assert!(status == 0, "the system clears the stack of a kernel");
    }
}

/// Runs `work`, in which [`current`] returns `stack`.
pub(super) fn with_current(stack: StackUse, work: impl FnOnce()) {
    let before = CURRENT.replace(Some(stack));
    work();
    CURRENT.set(before);
}

/// Returns the stack of the call that this thread makes; `None` outside of calls.
pub(super) fn current() -> Option<StackUse> {
    CURRENT.get()
}

/// Returns whether an address lies on a stack of this thread, or on the closed pages around it.
pub(super) fn is_around(address: usize) -> bool {
    STACKS.with_borrow(|stacks| {
        stacks.areas.iter().flatten().any(|area| (area.bottom - GUARD..area.top + GUARD).contains(&address))
    })
}

impl Stacks {
    fn make(&mut self, place: usize, size: usize) -> Area {
        self.have_handlers();
        let base = map(size + 2 * GUARD, libc::PROT_NONE);
        let bottom = base + GUARD;
        // SAFETY: the middle of the fresh mapping. Large pages would have to be cleared as a whole.
        #[expect(unsafe_code, reason = "system calls")]
        let is_open = unsafe {
            let start = bottom as *mut libc::c_void;
            libc::madvise(start, size, libc::MADV_NOHUGEPAGE);
            libc::mprotect(start, size, libc::PROT_READ | libc::PROT_WRITE) == 0
        };
        assert!(is_open, "the system has memory for the stack of a kernel");
        let area = Area { bottom, top: bottom + size, cleared: if size == LARGE { CLEARED } else { size } };
        self.areas[place] = Some(area);
        area
    }

    /// Makes a stack for signal handlers of this thread, unless it has one.
    #[expect(unsafe_code, reason = "the standard library has no signals")]
    fn have_handlers(&mut self) {
        // SAFETY: plain data, valid as zeros; the mapping lives as long as the thread.
        unsafe {
            let mut known = std::mem::zeroed::<libc::stack_t>();
            let is_known = libc::sigaltstack(ptr::null(), &raw mut known) == 0;
            if is_known && known.ss_flags & libc::SS_DISABLE != 0 {
                let base = map(HANDLERS, libc::PROT_READ | libc::PROT_WRITE);
                let stack = libc::stack_t { ss_sp: base as *mut libc::c_void, ss_flags: 0, ss_size: HANDLERS };
                libc::sigaltstack(&raw const stack, ptr::null_mut());
                self.handlers = Some(base);
            }
        }
    }
}

impl Drop for Stacks {
    #[expect(unsafe_code, reason = "mappings are known by their addresses")]
    fn drop(&mut self) {
        // SAFETY: this value's own mappings; the thread calls no kernel any more.
        unsafe {
            for area in self.areas.iter().flatten() {
                let bytes = area.top - area.bottom + 2 * GUARD;
                libc::munmap((area.bottom - GUARD) as *mut libc::c_void, bytes);
            }
            if let Some(base) = self.handlers {
                let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
                libc::sigaltstack(&raw const none, ptr::null_mut());
                libc::munmap(base as *mut libc::c_void, HANDLERS);
            }
        }
    }
}

/// Maps anonymous memory.
fn map(bytes: usize, protection: i32) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping.
    #[expect(unsafe_code, reason = "a system call")]
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    assert!(base != libc::MAP_FAILED, "the system has memory for the stack of a kernel");
    base as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_cleared_as_far_as_it_reaches() {
        for bytes in [0, 1, 4096, 4097, 200_000] {
            let area = of(StackUse::Bytes(bytes), 24);
            assert!(area.top - area.bottom >= bytes as usize + 24);
            assert_eq!(area.cleared, area.top - area.bottom);
            assert_eq!(of(StackUse::Bytes(bytes), 24), area);
        }
        let large = of(StackUse::Unbounded, 24);
        assert!(large.cleared < large.top - large.bottom);
    }

    #[test]
    #[expect(unsafe_code, reason = "memory by address")]
    fn what_is_not_cleared_is_released() {
        let area = of(StackUse::Unbounded, 0);
        let deep = (area.bottom + 100) as *mut u8;
        // SAFETY: memory of the area, which nothing uses.
        unsafe {
            deep.write_volatile(7);
            release(area);
            assert_eq!(deep.read_volatile(), 0);
        }
    }
}
