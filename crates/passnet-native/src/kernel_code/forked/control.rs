//! State of a forked process, which its parent sees.

use std::{
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// State of the process, for handlers and stand-ins. The parent sets it before it forks. It has a page of its own: the process has
/// no other variables of this module, which would show a kernel that its call is checked.
static CONTROL: ControlPage = ControlPage(AtomicPtr::new(ptr::null_mut()));

#[repr(C, align(4096))]
struct ControlPage(AtomicPtr<Control>);

/// First byte and end of the page that the process has.
pub(super) fn page() -> (usize, usize) {
    let start = (&raw const CONTROL).addr();
    (start, start + size_of::<ControlPage>())
}

/// State of a forked process, which its parent sees.
#[derive(Debug)]
#[repr(C, align(4096))]
pub(super) struct Control {
    report: AtomicU32,
    pub(super) access: AtomicU32,
    pub(super) address: AtomicU64,
    pub(super) heap: Heap,
}

/// Memory that stands in for a heap. The process has no other place for its state.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Heap {
    pub(super) start: AtomicUsize,
    pub(super) end: AtomicUsize,
    /// Next free byte.
    pub(super) free: AtomicUsize,
    /// End of all blocks so far.
    pub(super) used: AtomicUsize,
    /// It is the arena of timed calls, whose blocks lie where they lie in timed calls.
    pub(super) is_arena: AtomicBool,
    /// Blocks so far. Of an arena: those that are not released, by address.
    pub(super) count: AtomicUsize,
    /// First byte and end of each block of an arena. A block that is released has the first byte zero.
    pub(super) blocks: [(AtomicUsize, AtomicUsize); MOST_BLOCKS],
}

/// Blocks of an arena whose release has an effect.
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

/// Makes the state known to the process that is forked next.
pub(super) fn make_known(control: &Control) {
    CONTROL.0.store(ptr::from_ref(control).cast_mut(), Ordering::SeqCst);
}

/// State of this process.
pub(super) fn control() -> Option<&'static Control> {
    // SAFETY: the parent keeps the mapping until this process has ended.
    #[expect(unsafe_code, reason = "a mapping is known by its address")]
    unsafe {
        CONTROL.0.load(Ordering::SeqCst).as_ref()
    }
}

/// Reports how it ended, and ends the process.
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
