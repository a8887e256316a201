//! Data of a forked process. It is in separate memory, because the process has no heap.

use std::{cell::Cell, io, ptr, slice};

use super::control::Control;
use crate::kernel_code::{
    entry::Entry,
    keep::{ByteRange, Keep, Reach},
    place::PlacedImage,
    stack::Area,
};

const PAGE: usize = 4096;
/// Bytes of the stack of the fault handler, with room for the widest registers.
const ALTERNATE: usize = 64 << 10;
/// Bytes for slices, in addition to those of the words.
const SLICES: usize = 64 << 10;
const ALIGNMENT: usize = 64;

/// A call of a kernel to make in a forked process, for each part of its range.
#[derive(Debug)]
pub(in crate::kernel_code) struct ForkedCall<'c> {
    pub(in crate::kernel_code) loaded: &'c PlacedImage,
    pub(in crate::kernel_code) entry: Entry,
    /// The words of each call.
    pub(in crate::kernel_code) calls: Vec<Vec<u64>>,
    pub(in crate::kernel_code) reach: Reach,
    /// First byte and end of the arena of timed calls, if containers have the same addresses as in timed calls.
    pub(in crate::kernel_code) arena: Option<(usize, usize)>,
}

/// Work of the forked process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'m> {
    pub(super) control: &'m Control,
    pub(super) entry: Entry,
    /// The kernel's stack, and the vector registers of this CPU.
    pub(super) area: Area,
    pub(super) level: u8,
    pub(super) calls: &'m [&'m [u64]],
    /// First byte and end of the arena of timed calls, if containers are in this arena.
    pub(super) arena: Option<(usize, usize)>,
    /// First byte, end, and protection of memory.
    pub(super) protections: &'m [(usize, usize, i32)],
    /// Bytes on the pages of tensors that belong to no tensor.
    pub(super) fills: &'m [ByteRange],
    /// Address of room for a copy of these bytes, if they stay unchanged. If `None`, the bytes are filled.
    pub(super) copy: Option<usize>,
    /// Results to copy: from, to, bytes.
    pub(super) exports: &'m [(usize, usize, usize)],
    /// Places of addresses of functions, each with the function to put there.
    pub(super) patches: &'m [(usize, usize)],
    /// First byte of the image, end of its code, end.
    pub(super) image: (usize, usize, usize),
    /// First byte and number of bytes of the stack of handlers.
    pub(super) alternate: (usize, usize),
    /// First byte and end of the Linux kernel's pages with the clock.
    pub(super) clock: (usize, usize),
}

/// Memory for plans, in two mappings. Parent and child share one, with a [`Control`] and results. The other is private and contains
/// plans.
#[derive(Debug)]
pub(super) struct PlanMemory {
    shared: Mapping,
    private: Mapping,
    used: Cell<usize>,
}

impl PlanMemory {
    pub(super) fn new(call: &ForkedCall<'_>) -> io::Result<Self> {
        let results: usize = call.reach.results.iter().map(|span| span.bytes.next_multiple_of(ALIGNMENT)).sum();
        let words: usize = call.calls.iter().map(|words| words.len() * 8 + 2 * ALIGNMENT).sum();
        let shared = Mapping::new(size_of::<Control>() + results, libc::MAP_SHARED)?;
        let kept = if call.reach.is_filled { 0 } else { call.reach.fills.iter().map(|span| span.bytes).sum() };
        let slots = 64 * call.loaded.slots().len();
        let private = Mapping::new(ALTERNATE + SLICES + words + kept + slots, libc::MAP_PRIVATE)?;
        Ok(Self { shared, private, used: Cell::new(ALTERNATE) })
    }

    pub(super) fn control(&self) -> &Control {
        // SAFETY: the mapping is large enough, its zeros are a `Control`, and others see its atomics only.
        #[expect(unsafe_code, reason = "a mapping is known by its address")]
        unsafe {
            &*(self.shared.base as *const Control)
        }
    }

    /// Returns the address of room for the content of spans. The forked process makes the copy, because each allocation in this process
    /// may change bytes between tensors.
    pub(super) fn place_room(&self, spans: &[ByteRange]) -> usize {
        self.place(&vec![0_u8; spans.iter().map(|span| span.bytes).sum()]).as_ptr().addr()
    }

    /// Copies items into the private mapping.
    pub(super) fn place<T: Copy>(&self, items: &[T]) -> &[T] {
        let (offset, bytes) = (self.used.get(), size_of_val(items));
        assert!(offset + bytes + ALIGNMENT <= self.private.bytes, "a plan has its room");
        self.used.set((offset + bytes).next_multiple_of(ALIGNMENT));
        let base = (self.private.base + offset) as *mut T;
        // SAFETY: fresh memory of the mapping, aligned for any of these types.
        #[expect(unsafe_code, reason = "a mapping is known by its address")]
        unsafe {
            ptr::copy_nonoverlapping(items.as_ptr(), base, items.len());
            slice::from_raw_parts(base, items.len())
        }
    }

    /// First byte and number of bytes of the stack of handlers.
    pub(super) fn alternate(&self) -> (usize, usize) {
        (self.private.base, ALTERNATE)
    }

    pub(super) fn keeps(&self) -> [Keep; 3] {
        let plans = self.private.base + ALTERNATE;
        [
            Keep { start: self.shared.base, end: self.shared.base + self.shared.bytes, protection: None },
            Keep { start: self.private.base, end: plans, protection: None },
            Keep { start: plans, end: self.private.base + self.private.bytes, protection: Some(libc::PROT_READ) },
        ]
    }

    /// Returns the copies that the child has to make: each result to its place in the shared mapping.
    pub(super) fn exports(&self, results: &[ByteRange]) -> Vec<(usize, usize, usize)> {
        let mut to = self.shared.base + size_of::<Control>();
        let next = |span: &ByteRange| {
            let export = (span.start, to, span.bytes);
            to += span.bytes.next_multiple_of(ALIGNMENT);
            export
        };
        results.iter().map(next).collect()
    }

    /// Copies the results from the shared mapping to their places in this process.
    pub(super) fn results(&self, results: &[ByteRange]) {
        for (original, copy, bytes) in self.exports(results) {
            // SAFETY: the caller of a guarded call vouches for the tensor; the copy is in this mapping.
            #[expect(unsafe_code, reason = "tensors are known by address")]
            unsafe {
                ptr::copy_nonoverlapping(copy as *const u8, original as *mut u8, bytes);
            }
        }
    }
}

/// Anonymous memory.
#[derive(Debug)]
struct Mapping {
    base: usize,
    bytes: usize,
}

impl Mapping {
    #[expect(unsafe_code, reason = "a system call")]
    fn new(bytes: usize, kind: i32) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(PAGE);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, kind | libc::MAP_ANONYMOUS, -1, 0) };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { base: base as usize, bytes }) }
    }
}

impl Drop for Mapping {
    #[expect(unsafe_code, reason = "a mapping is known by its address")]
    fn drop(&mut self) {
        // SAFETY: this value's own mapping.
        unsafe {
            libc::munmap(self.base as *mut libc::c_void, self.bytes);
        }
    }
}
