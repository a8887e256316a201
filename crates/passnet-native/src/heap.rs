//! Free memory of the C library's allocator: what timed calls leave there is overwritten between them.
//!
//! Tensors that a call releases become free blocks, whole, split, or joined with their neighbours, and no sequence of requests is sure to
//! return all of them. So a [`Session`] notes where a library allocates (`record`), and afterwards visits the allocator's free blocks (`arena`).
//! It overwrites those parts of them that were noted, and no others: this would displace data from the caches, which makes calls slower.
//!
//! A process with PyTorch has about 800 small free blocks from its start. A session allocates them and keeps them until it ends, which
//! makes visits short.

mod arena;
mod record;

use std::{ffi::c_void, ptr};

use arena::{Arena, Block};

/// Byte that free memory is overwritten with: `true`, and a tiny number as any floating-point type.
const FILLER: u8 = 1;
/// Larger free blocks are few, and are left to the calls.
const LARGE: usize = 64 << 10;
/// Largest number of blocks that a session keeps.
const MOST_PLUGS: usize = 1 << 14;
/// Small blocks that need not be taken.
const FEW: usize = 8;
const ROUNDS: usize = 4;
/// Largest number of parts of memory that are known to be in use after a call.
const MOST_PARTS: usize = 1 << 12;
const PAGE: usize = 4096;

/// Timed calls of this thread, between which free memory is overwritten.
#[derive(Debug)]
pub struct Session {
    arena: Arena,
    /// Blocks that were free before the first call.
    plugs: Vec<*mut c_void>,
    /// Memory that was allocated, first byte and end, and not yet overwritten: sorted, without overlaps.
    used: Vec<(usize, usize)>,
    /// False if `used` lacks some of it.
    is_complete: bool,
}

impl Session {
    /// Begins a session for the allocations of a library, whose file has this name; of the program itself if it is empty. Returns `None` if
    /// there is no such library, if the allocator is not the one of glibc 2.32 to 2.41, or if this thread is not the first of its process.
    pub fn begin(library: &str) -> Option<Self> {
        let arena = Arena::find()?;
        if !record::is_installed(library) {
            return None;
        }
        let plugs = Vec::with_capacity(MOST_PLUGS);
        let mut session = Self { arena, plugs, used: Vec::with_capacity(MOST_PARTS), is_complete: true };
        session.plug()?;
        record::begin();
        Some(session)
    }

    /// Overwrites free memory that was allocated since the session began. Returns its bytes, or `None` if something in the allocator's lists is
    /// not as it should be. No other thread of the process may allocate memory meanwhile.
    pub fn overwrite(&mut self) -> Option<usize> {
        self.arena.settle()?;
        self.is_complete &= record::take(|start, end| {
            let has_room = self.used.len() < MOST_PARTS;
            if has_room {
                self.used.push((start, end));
            }
            has_room
        });
        merge(&mut self.used);
        if self.is_complete && self.used.is_empty() {
            return Some(0);
        }
        let (used, is_complete) = (&mut self.used, &mut self.is_complete);
        let mut nbytes = 0;
        let mut see = |block: &Block| {
            nbytes += if *is_complete { overwrite_used(block, used, is_complete) } else { fill(block.free()) };
        };
        self.arena.visit(&mut see)?;
        see(&self.arena.top()?);
        // Some part was not noted in time.
        if !self.is_complete && !self.used.is_empty() {
            self.used.clear();
            return self.overwrite();
        }
        Some(nbytes)
    }

    /// Allocates small blocks that are free.
    fn plug(&mut self) -> Option<()> {
        let mut sizes = Vec::with_capacity(MOST_PLUGS);
        for _ in 0..ROUNDS {
            self.arena.settle()?;
            sizes.clear();
            self.arena.visit(|block| {
                if sizes.len() < MOST_PLUGS && block.nbytes < LARGE {
                    sizes.push(block.nbytes);
                }
            })?;
            if sizes.len() <= FEW {
                break;
            }
            for &size in sizes.iter().take(MOST_PLUGS - self.plugs.len()) {
                // SAFETY: `malloc` takes any size; the block is released when the session ends.
                #[expect(unsafe_code, reason = "the allocator's interface")]
                let block = unsafe { libc::malloc(size) };
                self.plugs.push(block);
            }
        }
        Some(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        record::end();
        for &block in &self.plugs {
            // SAFETY: a block of `malloc`, or null, released once.
            #[expect(unsafe_code, reason = "the allocator's interface")]
            unsafe {
                libc::free(block);
            }
        }
    }
}

/// Overwrites those parts of a free block that were in use, in a sorted list without overlaps, and what else is free of their pages. Leaves the other parts in the list.
/// Returns the bytes.
fn overwrite_used(block: &Block, used: &mut Vec<(usize, usize)>, is_complete: &mut bool) -> usize {
    let ((from, to), (first, end)) = (block.whole(), block.free());
    let (mut nbytes, mut place) = (0, used.partition_point(|part| part.1 <= from));
    while place < used.len() && used[place].0 < to {
        let part = used.remove(place);
        let pages = (part.0 / PAGE * PAGE, part.1.next_multiple_of(PAGE));
        nbytes += fill((first.max(pages.0), end.min(pages.1)));
        for rest in [(part.0, from), (to, part.1)] {
            if rest.0 < rest.1 {
                *is_complete &= used.len() < MOST_PARTS;
                // The list must not grow: that would allocate memory.
                if *is_complete {
                    used.insert(place, rest);
                    place += 1;
                }
            }
        }
    }
    nbytes
}

/// Sorts parts of memory by their addresses, and joins those that overlap.
fn merge(parts: &mut Vec<(usize, usize)>) {
    parts.sort_unstable();
    parts.dedup_by(|next, part| {
        let overlaps = next.0 <= part.1;
        if overlaps {
            part.1 = part.1.max(next.1);
        }
        overlaps
    });
}

/// Overwrites bytes from an address to another. Returns their number.
fn fill((start, end): (usize, usize)) -> usize {
    if start >= end {
        return 0;
    }
    // SAFETY: free memory of the allocator without its own words, according to `arena`, which has checked sizes and links.
    #[expect(unsafe_code, reason = "free memory is known by address")]
    unsafe {
        ptr::write_bytes(start as *mut u8, FILLER, end - start);
    }
    end - start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(parts: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let mut parts = parts.to_vec();
        merge(&mut parts);
        parts
    }

    #[test]
    fn parts_that_overlap_or_touch_are_one() {
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[(30, 40), (0, 10), (5, 20), (1, 2), (20, 25)]), [(0, 25), (30, 40)]);
    }
}
