//! Overwrites free memory of the C library's allocator between timed calls, so that no call finds values of an earlier call there.
//!
//! Tensors that a call releases become free blocks: whole, split, or joined with their neighbours. No sequence of requests is sure to
//! return all of them. A [`Session`] therefore records where a library allocates (`record`), and later visits the free blocks of the
//! allocator (`arena`). It overwrites only the recorded parts of these blocks. To overwrite more would displace data from the caches and
//! make calls slower.
//!
//! A process with PyTorch has about 800 small free blocks from its start. A session allocates these blocks and keeps them until it ends,
//! so that visits are short.

mod arena;
mod record;

use std::{ffi::c_void, ptr};

use arena::{Arena, Block};

/// Byte that results and free memory are overwritten with between timed calls. The bytes together are a large number in each floating-point
/// type. New memory of some checked calls has this content too (`_LARGE` in `passnet._monitor.intercept`), so that a kernel cannot tell timed
/// calls from checked ones by it.
pub const FILLER: u8 = 0x5C;
/// Size in bytes above which free blocks are not taken: they are few, and calls use them.
const LARGE: usize = 64 << 10;
/// Largest number of blocks that a session keeps.
const MOST_PLUGS: usize = 1 << 14;
/// Number of small free blocks that need not be taken.
const FEW: usize = 8;
const ROUNDS: usize = 4;
/// Largest number of recorded parts of memory.
const MOST_PARTS: usize = 1 << 12;
const PAGE: usize = 4096;

/// A series of timed calls of this thread, between which free memory is overwritten.
#[derive(Debug)]
pub struct Session {
    arena: Arena,
    /// Blocks that were free before the first call and are kept allocated.
    plugs: Vec<*mut c_void>,
    /// First byte and end of memory that was allocated and not overwritten yet; sorted, without overlaps.
    used: Vec<(usize, usize)>,
    /// False if `used` lacks some of this memory.
    is_complete: bool,
}

impl Session {
    /// Begins a session for the allocations of the library with the given file name, or of the program itself if the name is empty.
    /// Returns `None` if there is no such library, if the allocator is not that of glibc 2.32 to 2.41, or if this thread is not the first
    /// thread of the process.
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

    /// Overwrites free memory that was allocated since the session began. Returns the number of bytes, or `None` if the allocator's lists
    /// are not as expected. No other thread of the process may allocate memory meanwhile.
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
        // Some allocations were not recorded.
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

/// Overwrites the parts of a free block that are in `used`, a sorted list without overlaps, and all other free bytes on their pages.
/// Removes the overwritten parts from the list. Returns the number of overwritten bytes.
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
                // The list must not grow, because this would allocate memory.
                if *is_complete {
                    used.insert(place, rest);
                    place += 1;
                }
            }
        }
    }
    nbytes
}

/// Sorts parts of memory by their addresses, and joins overlapping parts.
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

/// Overwrites the bytes from `start` to `end`. Returns their number.
fn fill((start, end): (usize, usize)) -> usize {
    if start >= end {
        return 0;
    }
    // SAFETY: `arena` has checked sizes and links: this is free memory, without words that the allocator uses.
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
