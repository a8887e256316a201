//! State of a forked process, which its parent can read.

use std::{
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// Address of the state of the process, for handlers and stand-ins. The parent sets it before the fork. It is on a separate page, because
/// the process has no other variables of this module: these would show a kernel that its call is checked.
static CONTROL: ControlPage = ControlPage(AtomicPtr::new(ptr::null_mut()));

#[repr(C, align(4096))]
struct ControlPage(AtomicPtr<Control>);

/// Returns the first byte and the end of the page with the address of the state.
pub(super) fn page() -> (usize, usize) {
    let start = (&raw const CONTROL).addr();
    (start, start + size_of::<ControlPage>())
}

/// State of a forked process, which its parent can read.
#[derive(Debug)]
#[repr(C, align(4096))]
pub(super) struct Control {
    report: AtomicU32,
    pub(super) access: AtomicU32,
    pub(super) address: AtomicU64,
    pub(super) heap: Heap,
}

/// Memory that is used in place of a heap. The bookkeeping is here because the process has no other writable memory for it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Heap {
    pub(super) start: AtomicUsize,
    pub(super) end: AtomicUsize,
    /// Next free byte.
    pub(super) free: AtomicUsize,
    /// End of all blocks so far.
    pub(super) used: AtomicUsize,
    /// True if this is the arena of timed calls. Blocks then have the same addresses as in timed calls.
    pub(super) is_arena: AtomicBool,
    /// Number of blocks so far. In an arena, the number of blocks that are not released, in order of addresses.
    pub(super) count: AtomicUsize,
    /// First byte and end of each block of an arena. For a released block, the first byte is zero.
    pub(super) blocks: [(AtomicUsize, AtomicUsize); MOST_BLOCKS],
}

/// Largest number of blocks of an arena that can be released.
pub(super) const MOST_BLOCKS: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Nothing = 0,
    Done = 1,
    Fault = 2,
    Other = 3,
}

impl Control {
    pub(super) fn set(&self, report: Report) {
        self.report.store(report as u32, Ordering::SeqCst);
    }

    pub(super) fn report(&self) -> Report {
        match self.report.load(Ordering::SeqCst) {
            1 => Report::Done,
            2 => Report::Fault,
            3 => Report::Other,
            _ => Report::Nothing,
        }
    }
}

/// Sets the state of the process that is forked next.
pub(super) fn make_known(control: &Control) {
    CONTROL.0.store(ptr::from_ref(control).cast_mut(), Ordering::SeqCst);
}

/// Returns the state of this process.
pub(super) fn control() -> Option<&'static Control> {
    // SAFETY: the parent keeps the mapping until this process has ended.
    #[expect(unsafe_code, reason = "a mapping is known by its address")]
    unsafe {
        CONTROL.0.load(Ordering::SeqCst).as_ref()
    }
}

/// Reports how the call ended, and ends the process.
pub(super) fn leave(report: Report) -> ! {
    if let Some(control) = control() {
        control.set(report);
    }
    // SAFETY: the one system call that this process may make.
    #[expect(unsafe_code, reason = "a system call")]
    unsafe {
        libc::_exit(0)
    }
}
