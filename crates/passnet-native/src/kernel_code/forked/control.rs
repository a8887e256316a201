//! State of a forked process, which its parent sees.

use std::{
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
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
#[derive(Debug, Default)]
#[repr(C, align(4096))]
pub(super) struct Control {
    report: AtomicU32,
    pub(super) access: AtomicU32,
    pub(super) address: AtomicU64,
    /// Next free byte and end of the memory that stands in for a heap.
    pub(super) free: AtomicUsize,
    pub(super) end: AtomicUsize,
    /// Blocks of that memory.
    pub(super) blocks: AtomicUsize,
}

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
