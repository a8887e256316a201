//! Copies of tensors between closed pages.

use std::{io, ptr, slice};

use super::memory::{ALIGNMENT, GuardPlace, StrayAccess, TensorMemory};
use crate::kernel_code::keep::FILLER;

pub(super) const PAGE: usize = 4096;
/// Bytes of closed pages on each side. They take address space but no memory.
pub(super) const GUARD: usize = 4 << 20;

/// The copy of tensors that overlap each other.
#[derive(Debug)]
pub(super) struct OverlapCopy {
    pub(super) tensors: Vec<TensorMemory>,
    original: usize,
    nbytes: usize,
    is_written: bool,
    /// Address of the mapping, which has closed pages, open pages and closed pages.
    base: usize,
    total: usize,
    copy: usize,
}

impl OverlapCopy {
    /// Copies tensors.
    ///
    /// # Safety
    ///
    /// As `call_guarded`.
    #[expect(unsafe_code, reason = "tensors are known by address")]
    pub(super) unsafe fn all(tensors: &[TensorMemory], side: GuardPlace) -> io::Result<Vec<Self>> {
        let mut sorted: Vec<_> = tensors.iter().copied().filter(|tensor| tensor.nbytes > 0).collect();
        sorted.sort_by_key(|tensor| tensor.address);
        let mut groups: Vec<(usize, Vec<TensorMemory>)> = Vec::new();
        for tensor in sorted {
            let end = tensor.address + tensor.nbytes;
            match groups.last_mut() {
                Some((last, group)) if tensor.address < *last => {
                    *last = end.max(*last);
                    group.push(tensor);
                }
                _ => groups.push((end, vec![tensor])),
            }
        }
        // SAFETY: the caller guarantees the requirements.
        groups.into_iter().map(|(end, group)| unsafe { Self::new(group, end, side) }).collect()
    }

    #[expect(unsafe_code, reason = "maps memory and copies by address")]
    unsafe fn new(tensors: Vec<TensorMemory>, end: usize, side: GuardPlace) -> io::Result<Self> {
        let original = tensors[0].address;
        let nbytes = end - original;
        let lead = original % ALIGNMENT;
        let open = (lead + nbytes).next_multiple_of(PAGE) + PAGE;
        let total = open + 2 * GUARD;
        let is_written = tensors.iter().any(|tensor| tensor.is_written);
        // SAFETY: a fresh mapping, written within its bounds; the caller vouches for the original.
        unsafe {
            // Shared with a forked process.
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let base = libc::mmap(ptr::null_mut(), total, libc::PROT_NONE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let base = base as usize;
            let first = base + GUARD;
            let last = first + open;
            let copy = match side {
                GuardPlace::Start | GuardPlace::Home | GuardPlace::Hidden => first + lead,
                GuardPlace::End => last - nbytes - (last - nbytes - lead) % ALIGNMENT,
            };
            let region = Self { tensors, original, nbytes, is_written, base, total, copy };
            region.protect(first, open, libc::PROT_READ | libc::PROT_WRITE)?;
            ptr::write_bytes(first as *mut u8, FILLER, copy - first);
            ptr::copy_nonoverlapping(original as *const u8, copy as *mut u8, nbytes);
            ptr::write_bytes((copy + nbytes) as *mut u8, FILLER, last - copy - nbytes);
            if !is_written {
                region.protect(first, open, libc::PROT_READ)?;
            }
            Ok(region)
        }
    }

    #[expect(unsafe_code, reason = "a mapping is known by its address")]
    fn protect(&self, address: usize, bytes: usize, protection: i32) -> io::Result<()> {
        // SAFETY: pages of this value's mapping.
        let is_done = unsafe { libc::mprotect(address as *mut libc::c_void, bytes, protection) == 0 };
        if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns the first byte and the number of bytes of the whole mapping.
    pub(super) fn mapping(&self) -> (usize, usize) {
        (self.base, self.total)
    }

    /// Returns the open pages, and whether they may be written to.
    pub(super) fn open(&self) -> (usize, usize, bool) {
        (self.base + GUARD, self.base + self.total - GUARD, self.is_written)
    }

    pub(super) fn address_of(&self, tensor: &TensorMemory) -> usize {
        self.copy + (tensor.address - self.original)
    }

    /// Describes an access to an address of the mapping.
    pub(super) fn stray(&self, address: usize, is_write: bool) -> StrayAccess {
        let distance = |tensor: &&TensorMemory| {
            let start = self.address_of(tensor);
            let end = start + tensor.nbytes;
            // A write within the copy is a write to an input.
            if address < start { start - address } else { (address + 1).saturating_sub(end) }
        };
        let nearest = self.tensors.iter().min_by_key(distance).unwrap_or(&self.tensors[0]);
        StrayAccess::Near {
            parameter: nearest.parameter,
            offset: address as i64 - self.address_of(nearest) as i64,
            nbytes: nearest.nbytes,
            is_write,
        }
    }

    /// Returns a write to the open bytes around the copy.
    pub(super) fn write_to_gap(&self) -> Option<StrayAccess> {
        let (first, last) = (self.base + GUARD, self.base + self.total - GUARD);
        let end = self.copy + self.nbytes;
        let changed = |from: usize, to: usize| {
            // SAFETY: open pages of this value's mapping.
            #[expect(unsafe_code, reason = "a mapping is known by its address")]
            let bytes = unsafe { slice::from_raw_parts(from as *const u8, to - from) };
            bytes.iter().position(|byte| *byte != FILLER).map(|place| from + place)
        };
        // In front of the copy, the last changed byte is the nearest one; behind the copy, the first.
        let place = changed(first, self.copy).or_else(|| changed(end, last))?;
        Some(self.stray(place, true))
    }

    /// Copies the content back.
    ///
    /// # Safety
    ///
    /// As `call_guarded`.
    #[expect(unsafe_code, reason = "tensors are known by address")]
    pub(super) unsafe fn copy_back(&self) {
        if self.is_written {
            // SAFETY: the caller guarantees the requirements.
            unsafe { ptr::copy_nonoverlapping(self.copy as *const u8, self.original as *mut u8, self.nbytes) }
        }
    }
}

impl Drop for OverlapCopy {
    #[expect(unsafe_code, reason = "a mapping is known by its address")]
    fn drop(&mut self) {
        // SAFETY: this value's own mapping.
        unsafe {
            libc::munmap(self.base as *mut libc::c_void, self.total);
        }
    }
}
