//! The first arena of glibc's allocator (`malloc/malloc.c`, versions 2.32 to 2.41), found without symbols.
//!
//! A chunk at address `p` has its size at `p + 8` (three low bits are flags), and its user's bytes from `p + 16` to `p + size + 8`. A
//! free chunk has links at `p + 16` and `p + 24`, large ones two more, and its size again at `p + size`. 127 circular lists ("bins") hold
//! free chunks; their heads lie 16 bytes from each other in the library's own data, behind the address of the last chunk ("top"). Small
//! chunks are kept in lists of a thread first ("tcache"), in the first chunk of the heap.

use std::{ffi::c_void, fs, hint, mem, ptr, sync::OnceLock};

/// Sizes of chunks are multiples of this number of bytes.
const GRAIN: usize = 16;
const WORD: usize = size_of::<usize>();
const FLAGS: usize = 7;
const PREVIOUS_IS_USED: usize = 1;
const BINS: usize = 127;
/// Number of lists of small chunks that are not joined yet ("fast bins"). The heads are in front of the address of the top.
const FAST_BINS: usize = 10;
/// Size in bytes from which on chunks have two more links.
const LARGE: usize = 1024;
/// Number of lists of a thread. In memory, their lengths (two bytes each) come first, then their first elements.
const CLASSES: usize = 64;
const LENGTHS: usize = 2 * CLASSES;
const SMALLEST: usize = 32;
/// Largest number of chunks of a list.
const MOST: usize = 1 << 20;
/// Size of a request before which the allocator joins waiting chunks, and which is served from the bins.
const JOINS: usize = 2048;

/// A free block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Address of the user's first byte.
    start: usize,
    /// Number of bytes that a user of the block gets: the largest request that the block can serve.
    pub(super) nbytes: usize,
    /// Number of bytes at the start and at the end that the allocator uses.
    links: usize,
    footer: usize,
}

impl Block {
    /// Returns the first byte and the end of memory that the allocator does not use.
    pub(super) fn free(&self) -> (usize, usize) {
        (self.start + self.links, self.start + self.nbytes - self.footer)
    }

    /// Returns the first byte and the end of memory whose old values are gone once [`Self::free`] is overwritten. The size in front of the
    /// block belongs to the allocator. The word before the size does not: while the block in front is in use, it is the end of that block.
    pub(super) fn whole(&self) -> (usize, usize) {
        (self.start - WORD, self.start + self.nbytes)
    }
}

/// The arena of a process's first thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arena {
    /// Address of the head of the first list, which is also the place of the address of the top.
    head: usize,
    /// First byte of the heap.
    start: usize,
}

impl Arena {
    /// Returns the arena, if the allocator is the expected one and this is the first thread.
    pub(super) fn find() -> Option<Self> {
        static START: OnceLock<Option<usize>> = OnceLock::new();
        if !is_of_glibc() {
            return None;
        }
        let start = (*START.get_or_init(start_of_heap))?;
        let arena = Self { head: head_of_bins(start)?, start };
        (arena.has_thread_lists()? && arena.top().is_some()).then_some(arena)
    }

    /// Returns the last free block.
    pub(super) fn top(&self) -> Option<Block> {
        let (chunk, end) = (word(self.head), end_of_heap());
        let is_there = chunk > self.start && chunk < end && chunk.is_multiple_of(GRAIN);
        let size = if is_there { word(chunk + WORD) & !FLAGS } else { return None };
        (chunk + size == end && size >= SMALLEST).then_some(Block {
            start: chunk + 2 * WORD,
            nbytes: size - 2 * WORD,
            links: 0,
            footer: 0,
        })
    }

    /// Makes the allocator join chunks in the fast bins with their neighbours.
    pub(super) fn settle(&self) -> Option<()> {
        let is_waiting = || (1..=FAST_BINS).any(|place| word(self.head - place * WORD) != 0);
        if is_waiting() {
            release(allocate(JOINS));
        }
        (!is_waiting()).then_some(())
    }

    /// Calls `see` with each free block except the top. `see` must neither allocate nor release memory. Returns `None` at the first chunk
    /// that is not as expected.
    pub(super) fn visit(&self, mut see: impl FnMut(&Block)) -> Option<()> {
        let top = self.top()?.start - 2 * WORD;
        for bin in 0..BINS {
            let head = self.head + bin * 2 * WORD;
            let (mut chunk, mut before) = (word(head + 2 * WORD), head);
            for _ in 0..MOST {
                if chunk == head {
                    break;
                }
                see(&self.checked(chunk, before, top)?);
                (before, chunk) = (chunk, word(chunk + 2 * WORD));
            }
            if chunk != head {
                return None;
            }
        }
        (0..CLASSES).try_for_each(|class| self.visit_class(class, &mut see))
    }

    /// Returns the block of a free chunk that follows `before` in a list; `None` if its words are not as expected.
    fn checked(&self, chunk: usize, before: usize, top: usize) -> Option<Block> {
        if chunk <= self.start || chunk >= top || !chunk.is_multiple_of(GRAIN) || word(chunk + 3 * WORD) != before {
            return None;
        }
        let size = word(chunk + WORD) & !FLAGS;
        let is_size = size >= SMALLEST && size.is_multiple_of(GRAIN) && size <= top - chunk;
        let is_free = is_size && word(chunk + size) == size && word(chunk + size + WORD) & PREVIOUS_IS_USED == 0;
        let links = if size >= LARGE { 4 * WORD } else { 2 * WORD };
        is_free.then_some(Block { start: chunk + 2 * WORD, nbytes: size - WORD, links, footer: WORD })
    }

    /// Calls `see` with each block in one list of this thread.
    fn visit_class(&self, class: usize, see: &mut impl FnMut(&Block)) -> Option<()> {
        let mut user = self.first_of(class);
        for _ in 0..self.length_of(class) {
            let size = SMALLEST + class * GRAIN;
            if user == 0 || !user.is_multiple_of(GRAIN) || word(user - WORD) & !FLAGS != size {
                return None;
            }
            see(&Block { start: user, nbytes: size - WORD, links: 2 * WORD, footer: 0 });
            user = linked(user);
        }
        (user == 0).then_some(())
    }

    fn length_of(&self, class: usize) -> usize {
        (word(self.start + 2 * WORD + class / 4 * WORD) >> (class % 4 * 16)) & 0xFFFF
    }

    fn first_of(&self, class: usize) -> usize {
        word(self.start + 2 * WORD + LENGTHS + class * WORD)
    }

    /// Returns whether this thread's lists are at the expected place, tested with two blocks of one class.
    fn has_thread_lists(&self) -> Option<bool> {
        const CLASS: usize = CLASSES - 1;
        const REQUEST: usize = SMALLEST + CLASS * GRAIN - WORD;
        if word(self.start + WORD) & !FLAGS != 2 * WORD + LENGTHS + CLASSES * WORD {
            return None;
        }
        let [first, second] = [(); 2].map(|()| allocate(REQUEST));
        let length = self.length_of(CLASS);
        release(first);
        release(second);
        let is_first = self.first_of(CLASS) == second && linked(second) == first;
        Some(is_first && self.length_of(CLASS) == length + 2)
    }
}

/// Returns whether `malloc` is that of glibc, in a version whose lists are known.
fn is_of_glibc() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| {
        let [Some(malloc), Some(version)] = [c"malloc", c"gnu_get_libc_version"].map(|name| {
            // SAFETY: looks a name up among what is loaded.
            #[expect(unsafe_code, reason = "symbols come from the dynamic loader")]
            let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        }) else {
            return false;
        };
        // SAFETY: the function has this type in each version.
        #[expect(unsafe_code, reason = "symbols come from the dynamic loader")]
        let text = unsafe {
            let function: extern "C" fn() -> *const std::ffi::c_char = mem::transmute(version);
            std::ffi::CStr::from_ptr(function())
        };
        let minor = text.to_str().ok().and_then(|text| text.strip_prefix("2.")).and_then(|minor| minor.parse().ok());
        cfg!(target_pointer_width = "64")
            && minor.is_some_and(|minor: u32| (32..=41).contains(&minor))
            && library_of(malloc as usize).is_some()
            && library_of(malloc as usize) == library_of(version as usize)
    })
}

/// Returns the base of the library with this address.
#[expect(unsafe_code, reason = "the loader's interface")]
fn library_of(address: usize) -> Option<usize> {
    // SAFETY: plain data, filled in by the call.
    unsafe {
        let mut info = mem::zeroed::<libc::Dl_info>();
        (libc::dladdr(address as *const c_void, &raw mut info) != 0).then_some(info.dli_fbase as usize)
    }
}

/// Returns the head of the first list. It is found by releasing a block: the allocator puts the block into this list, and the links of
/// the block lead to the head.
fn head_of_bins(start: usize) -> Option<usize> {
    // If the first block comes from the top, the second block is behind it. The first block then does not become part of the top when it
    // is released.
    let [block, wall] = [(); 2].map(|()| allocate(4 * JOINS));
    release(block);
    let (heap, own) = (start..end_of_heap(), library_of(libc::malloc as *const () as usize));
    let mut node = if heap.contains(&block) { word(block + WORD) } else { 0 };
    for _ in 0..MOST {
        if !heap.contains(&node) || !node.is_multiple_of(GRAIN) {
            break;
        }
        node = word(node + 3 * WORD);
    }
    release(wall);
    (node != 0 && node.is_multiple_of(GRAIN) && own.is_some() && library_of(node) == own).then_some(node)
}

/// Returns the address of a new block. The address is hidden from the compiler, which would otherwise remove a block that is released
/// without a use.
fn allocate(nbytes: usize) -> usize {
    // SAFETY: `malloc` takes any size.
    #[expect(unsafe_code, reason = "the allocator's interface")]
    let block = unsafe { libc::malloc(nbytes) };
    hint::black_box(block) as usize
}

/// Releases a block of [`allocate`], once.
fn release(block: usize) {
    // SAFETY: the callers pass each block once.
    #[expect(unsafe_code, reason = "the allocator's interface")]
    unsafe {
        libc::free(hint::black_box(block as *mut c_void));
    }
}

/// Returns the first byte of the heap, which does not move.
fn start_of_heap() -> Option<usize> {
    /// Number of the field, counted from the third field, which follows the name of the program.
    const START_OF_HEAP: usize = 47 - 3;
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let start: usize = fields.split_whitespace().nth(START_OF_HEAP)?.parse().ok()?;
    (start != 0 && start < end_of_heap()).then(|| start.next_multiple_of(GRAIN))
}

#[expect(unsafe_code, reason = "the allocator's interface")]
fn end_of_heap() -> usize {
    // SAFETY: asks, and changes nothing.
    unsafe { libc::sbrk(0) as usize }
}

/// Returns the next element of a list of a thread. The list stores the address xored with the place of the link.
fn linked(place: usize) -> usize {
    (place >> 12) ^ word(place)
}

/// Reads a word of the allocator.
fn word(address: usize) -> usize {
    // SAFETY: the callers pass addresses in the heap or in the data of the library, whose layout they have checked.
    #[expect(unsafe_code, reason = "the allocator's lists are known by address")]
    unsafe {
        ptr::read_volatile(address as *const usize)
    }
}
