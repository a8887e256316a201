//! Free memory of the allocator. It has no harness: the first thread of a process has the heap, and tests run in other threads.
#![expect(unsafe_code, reason = "the allocator's interface")]

use std::{collections::HashMap, ffi::c_void, slice};

use passnet_native::heap::Session;

/// Word that a call leaves in its blocks.
const MARK: [u8; 4] = [7; 4];

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn main() {
    // SAFETY: asks for a symbol.
    let is_glibc = !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"gnu_get_libc_version".as_ptr()) }.is_null();
    let Some(session) = Session::begin("") else {
        eprintln!("no session: {}", if is_glibc { "this version of glibc is not known" } else { "not glibc" });
        return;
    };
    drop(session);
    let mut numbers = Numbers(1);
    released_blocks_are_overwritten("same sizes", &mut numbers, &|_, place| [160_000, 160_000, 4_000][place % 3]);
    released_blocks_are_overwritten("neighbouring sizes", &mut numbers, &|numbers, _| 3_996 + 4 * numbers.below(3));
    released_blocks_are_overwritten("small sizes", &mut numbers, &|numbers, _| 64 + numbers.below(1_000));
    released_blocks_are_overwritten("all sizes", &mut numbers, &|numbers, _| {
        1 << numbers.below(18) | numbers.below(64)
    });
    old_blocks_stay_as_they_are();
    a_session_returns_what_it_took();
}

/// A row of pseudorandom numbers (Knuth's linear congruential generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A block as PyTorch allocates one.
fn allocate(nbytes: usize) -> *mut c_void {
    let mut block = std::ptr::null_mut();
    // SAFETY: the alignment is a power of two.
    assert_eq!(unsafe { libc::posix_memalign(&raw mut block, 64, nbytes) }, 0);
    block
}

/// Writes to blocks of `size` in many calls. Some blocks, and small ones that no session records, live on for a few calls.
fn released_blocks_are_overwritten(name: &str, numbers: &mut Numbers, size: &dyn Fn(&mut Numbers, usize) -> usize) {
    let mut session = Session::begin("").expect("there was one before");
    let (mut fresh, mut kept, mut others) = (HashMap::new(), Vec::new(), Vec::new());
    for call in 0..1_000 {
        let count = 1 + numbers.below(12);
        for place in 0..count {
            let size = size(numbers, place);
            let block = allocate(size);
            // SAFETY: a live block of this size.
            let bytes = unsafe { slice::from_raw_parts_mut(block.cast::<u8>(), size) };
            // The allocator's links are addresses of aligned chunks, or such addresses combined with others.
            let found = bytes.chunks_exact(MARK.len()).filter(|word| **word == MARK).count();
            assert_eq!(found, 0, "{name}: words of an earlier call in {size} bytes of call {call}");
            *fresh.entry(block).or_insert(0) += 1;
            bytes.fill(MARK[0]);
            kept.push(block);
        }
        let left = if numbers.below(2) == 0 { 0 } else { numbers.below(4) };
        release(&mut kept, left, numbers);
        for _ in 0..numbers.below(4) {
            // SAFETY: `malloc` takes any size.
            others.push(unsafe { libc::malloc(16 + numbers.below(400)) });
        }
        let left = numbers.below(30);
        release(&mut others, left, numbers);
        assert!(session.overwrite().is_some(), "{name}: a list is not as expected after call {call}");
    }
    release(&mut kept, 0, numbers);
    release(&mut others, 0, numbers);
    // The next session knows nothing of this one's calls.
    assert!(session.overwrite().is_some(), "{name}: a list is not as expected at the end");
    // Without reuse the test would show nothing.
    assert!(fresh.values().any(|count| *count > 1), "{name}: no block came twice");
}

/// Releases blocks until no more than `left` are left.
fn release(blocks: &mut Vec<*mut c_void>, left: usize, numbers: &mut Numbers) {
    while blocks.len() > left {
        let block = blocks.swap_remove(numbers.below(blocks.len()));
        // SAFETY: released once.
        unsafe { libc::free(block) };
    }
}

fn old_blocks_stay_as_they_are() {
    let blocks: Vec<(Vec<u8>, u8)> =
        (0..200).map(|number| (vec![number; 1 + 50 * usize::from(number)], number)).collect();
    let mut session = Session::begin("").expect("there was one before");
    session.overwrite().expect("lists as before");
    drop(session);
    assert!(blocks.iter().all(|(bytes, number)| bytes.iter().all(|byte| byte == number)));
}

fn a_session_returns_what_it_took() {
    // SAFETY: asks.
    let in_use = || unsafe { libc::mallinfo2() }.uordblks;
    let before = in_use();
    for _ in 0..20 {
        drop(Session::begin("").expect("there was one before"));
    }
    // Chunks of the thread's own lists count as used.
    assert!(in_use() < before + (600 << 10), "{} bytes became {}", before, in_use());
}
