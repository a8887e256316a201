//! Memory for the inputs of timed calls, with margins of known bytes around each input.
//!
//! An allocator leaves unused bytes behind a tensor. A kernel could keep a result of an earlier call there.

use std::{ffi::c_void, io, ptr, slice};

use crate::random::random_word;

/// Byte of the margins. As a floating-point number of any type, it is large and finite.
const FILLER: u8 = 0x5A;
const FILLERS: [u8; PAGE] = [FILLER; PAGE];
const PAGE: usize = 4096;
/// Alignment of tensors, that of PyTorch's allocator.
const ALIGNMENT: usize = 64;
/// Margins have random sizes, so that inputs of a multiple of a page do not compete for the same parts of the cache.
const MOST_MARGINS: u64 = 16;

/// Bytes in front of and behind the memory that can be read. A stray read there does not end the process, so that guarded calls can say
/// where it is.
const AROUND: usize = 64 << 10;

/// Memory of several inputs.
#[derive(Debug)]
pub struct InputMemory {
    /// First byte of the mapping that can be written to.
    base: usize,
    nbytes: usize,
    /// First byte and end of each input, as offsets.
    places: Vec<(usize, usize)>,
}

impl InputMemory {
    /// Returns memory for inputs of these sizes in bytes.
    ///
    /// # Errors
    ///
    /// If the system has no memory or no random numbers.
    #[expect(unsafe_code, reason = "the standard library has no mappings")]
    pub fn new(sizes: &[usize]) -> io::Result<Self> {
        let margin = || Ok::<_, io::Error>(ALIGNMENT * (1 + (random_word()? % MOST_MARGINS) as usize));
        let mut end = 0_usize;
        let mut places = Vec::with_capacity(sizes.len());
        for size in sizes {
            let start = end.next_multiple_of(ALIGNMENT) + margin()?;
            end = start.checked_add(*size).ok_or(io::ErrorKind::OutOfMemory)?;
            places.push((start, end));
        }
        let nbytes = (end + margin()?).next_multiple_of(PAGE);
        let (all, flags) = (nbytes + 2 * AROUND, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), all, libc::PROT_READ, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = Self { base: start as usize + AROUND, nbytes, places };
        // SAFETY: pages of this mapping.
        let opened = unsafe { libc::mprotect(memory.base as *mut c_void, nbytes, libc::PROT_READ | libc::PROT_WRITE) };
        if opened != 0 {
            return Err(io::Error::last_os_error());
        }
        memory.fill();
        Ok(memory)
    }

    /// Returns the address of each input.
    pub fn addresses(&self) -> Vec<usize> {
        self.places.iter().map(|(start, _)| self.base + start).collect()
    }

    /// Returns whether nothing has written to a margin since the last time. Restores the margins.
    #[expect(unsafe_code, reason = "reads memory by address")]
    pub fn margins_are_intact(&self) -> bool {
        let is_intact = self.margins().all(|(start, end)| {
            // SAFETY: a part of the mapping. Only code of kernels writes there, in calls that have returned.
            let margin = unsafe { slice::from_raw_parts((self.base + start) as *const u8, end - start) };
            margin.chunks(PAGE).all(|part| part == &FILLERS[..part.len()])
        });
        if !is_intact {
            self.fill();
        }
        is_intact
    }

    /// Returns the first byte and the end of each margin, as offsets.
    fn margins(&self) -> impl Iterator<Item = (usize, usize)> {
        let starts = std::iter::once(0).chain(self.places.iter().map(|(_, end)| *end));
        starts.zip(self.places.iter().map(|(start, _)| *start).chain([self.nbytes]))
    }

    #[expect(unsafe_code, reason = "writes memory by address")]
    fn fill(&self) {
        for (start, end) in self.margins() {
            // SAFETY: a part of the mapping that no tensor has.
            unsafe { ptr::write_bytes((self.base + start) as *mut u8, FILLER, end - start) }
        }
    }
}

impl Drop for InputMemory {
    #[expect(unsafe_code, reason = "the standard library has no mappings")]
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and its owner keeps it for as long as its tensors.
        unsafe {
            libc::munmap((self.base - AROUND) as *mut c_void, self.nbytes + 2 * AROUND);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_aligned_and_do_not_meet() {
        let sizes = [4, 0, 4096, 63, 64, 100_000];
        let memory = InputMemory::new(&sizes).unwrap();
        let addresses = memory.addresses();
        assert!(addresses.iter().all(|address| address % ALIGNMENT == 0));
        let ends = addresses.iter().zip(sizes).map(|(address, size)| address + size);
        assert!(ends.zip(&addresses[1..]).all(|(end, next)| end + ALIGNMENT <= *next));
        assert!(InputMemory::new(&[]).unwrap().margins_are_intact());
    }

    #[test]
    #[expect(unsafe_code, reason = "writes next to an input")]
    fn a_write_next_to_an_input_is_seen_once() {
        let memory = InputMemory::new(&[12, 5000]).unwrap();
        let write = |at: usize, value: u8| {
            // SAFETY: within the mapping.
            unsafe { (at as *mut u8).write_volatile(value) }
        };
        for (address, size) in memory.addresses().into_iter().zip([12, 5000]) {
            (0..size).for_each(|place| write(address + place, 7));
            assert!(memory.margins_are_intact());
            for at in [address - 1, address + size, memory.base, memory.base + memory.nbytes - 1] {
                write(at, 7);
                assert!(!memory.margins_are_intact() && memory.margins_are_intact());
            }
        }
    }
}
