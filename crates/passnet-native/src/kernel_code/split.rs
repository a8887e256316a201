//! Calls of a kernel whose range is split over the threads that PyTorch's operations use.
//!
//! A kernel with a range computes the part of its work between two of its arguments. The launcher calls it with parts of the range, each
//! in a thread of the OpenMP pool that PyTorch has started. No threads are therefore added to those of eager mode. The kernel itself
//! starts no threads.

use std::{
    ffi::{c_int, c_uint, c_void},
    sync::OnceLock,
};

use passnet_objects::StackUse;

use super::{call, entry::Entry, libraries::openmp};

/// Two neighbouring parameters that are the first number and the end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    begin: usize,
}

impl Range {
    /// Returns the range that begins with parameter number `begin` of `parameters` parameters.
    ///
    /// # Errors
    ///
    /// If no parameter follows it.
    pub fn of(begin: usize, parameters: usize) -> Result<Self, &'static str> {
        if begin + 1 < parameters { Ok(Self { begin }) } else { Err("a range is two parameters") }
    }
}

type Body = extern "C" fn(*mut c_void);

/// Functions of OpenMP's library, as compilers call them.
#[derive(Clone, Copy)]
struct OpenMp {
    parallel: unsafe extern "C" fn(Body, *mut c_void, c_uint, c_uint),
    max_threads: unsafe extern "C" fn() -> c_int,
    in_parallel: unsafe extern "C" fn() -> c_int,
    thread: unsafe extern "C" fn() -> c_int,
    threads: unsafe extern "C" fn() -> c_int,
}

/// Returns OpenMP's library; `None` where this system has none. Kernels then run in one thread, like PyTorch's operations.
fn library() -> Option<OpenMp> {
    static LIBRARY: OnceLock<Option<OpenMp>> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let [parallel, max_threads, in_parallel, thread, threads] = [
            c"GOMP_parallel",
            c"omp_get_max_threads",
            c"omp_in_parallel",
            c"omp_get_thread_num",
            c"omp_get_num_threads",
        ]
        .map(openmp);
        // SAFETY: functions of these names have these types in all libraries of OpenMP.
        #[expect(unsafe_code, reason = "functions of libraries are known by address")]
        unsafe {
            use std::mem::transmute;
            Some(OpenMp {
                parallel: transmute::<usize, unsafe extern "C" fn(Body, *mut c_void, c_uint, c_uint)>(parallel?),
                max_threads: transmute::<usize, unsafe extern "C" fn() -> c_int>(max_threads?),
                in_parallel: transmute::<usize, unsafe extern "C" fn() -> c_int>(in_parallel?),
                thread: transmute::<usize, unsafe extern "C" fn() -> c_int>(thread?),
                threads: transmute::<usize, unsafe extern "C" fn() -> c_int>(threads?),
            })
        }
    })
}

/// A number of threads that makes OpenMP use all of PyTorch's threads.
///
/// A call uses all threads even if the range has fewer steps, as PyTorch's operations do. In a smaller team, GNU's library ends the other
/// threads, and the next operation of PyTorch would have to start them again.
const ALL_THREADS: c_uint = 0;

/// A call that is split.
struct Split<'w> {
    entry: Entry,
    words: &'w [u64],
    stack: Option<StackUse>,
    range: Range,
    library: OpenMp,
}

/// Calls a kernel in the number of threads that PyTorch would use, each with a part of the range. The kernel is called once in a thread
/// that is already part of a parallel loop, or if the range is one step. A range that is empty, or whose end is before its beginning, is
/// passed on unchanged.
///
/// # Safety
///
/// As [`call`](super::call()), for each part of the range. Calls for different parts at the same time must be allowed.
#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
pub unsafe fn call_split(entry: Entry, words: &[u64], stack: Option<StackUse>, range: Range) {
    let length = words[range.begin + 1].cast_signed().saturating_sub(words[range.begin].cast_signed());
    // SAFETY: functions without arguments, which have no conditions.
    let splits =
        |library: &OpenMp| unsafe { length > 1 && (library.in_parallel)() == 0 && (library.max_threads)() > 1 };
    match library().filter(splits) {
        Some(library) => {
            let split = Split { entry, words, stack, range, library };
            // SAFETY: the function returns when all threads have come back from `work`, which only reads `split`.
            unsafe { (library.parallel)(work, (&raw const split).cast_mut().cast(), ALL_THREADS, 0) }
        }
        // SAFETY: the caller guarantees the requirements.
        None => unsafe { call_once(entry, words, stack) },
    }
}

/// Returns the number of threads in which a kernel with a range is called.
pub(super) fn threads() -> u32 {
    // SAFETY: a function without arguments, which has no conditions.
    #[expect(unsafe_code, reason = "functions of libraries are known by address")]
    let threads = library().map_or(1, |library| unsafe { (library.max_threads)() });
    threads.unsigned_abs().max(1)
}

/// Returns the words of the calls that [`call_split`] would make in this number of threads, in order.
///
/// With one thread, a range of several steps has two parts for half of the values of `cut`, any number, which also determines where they
/// meet: the result of a kernel must not depend on the parts. It is one part for the others, as in timed calls.
pub(super) fn calls(words: &[u64], range: Option<Range>, threads: u32, cut: u64) -> Vec<Vec<u64>> {
    let Some(Range { begin: at }) = range else { return vec![words.to_vec()] };
    let (begin, end) = (words[at].cast_signed(), words[at + 1].cast_signed());
    let length = end.saturating_sub(begin);
    let of = |(first, last): (i64, i64)| {
        let mut words = words.to_vec();
        (words[at], words[at + 1]) = (first.cast_unsigned(), last.cast_unsigned());
        words
    };
    if length <= 1 {
        return vec![words.to_vec()];
    }
    if threads <= 1 {
        if cut.is_multiple_of(2) {
            return vec![words.to_vec()];
        }
        let middle = begin.saturating_add_unsigned(1 + (cut / 2) % (length - 1).unsigned_abs());
        return [(begin, middle), (middle, end)].map(of).into();
    }
    let threads = i64::from(threads).min(length);
    (0..threads).map(|thread| of(part(begin, end, thread, threads))).collect()
}

#[expect(unsafe_code, reason = "the caller vouches for the arguments")]
unsafe fn call_once(entry: Entry, words: &[u64], stack: Option<StackUse>) {
    // SAFETY: the caller guarantees the requirements.
    unsafe {
        match stack {
            Some(stack) => call(entry, words, stack),
            None => entry(words.as_ptr()),
        }
    }
}

/// Computes the part of the calling thread.
extern "C" fn work(split: *mut c_void) {
    // SAFETY: `call_split` gives its own `Split`, which outlives the call; its caller vouches for the kernel.
    #[expect(unsafe_code, reason = "OpenMP passes a pointer")]
    unsafe {
        let split = &*split.cast::<Split<'_>>();
        // There may be more threads than steps, and fewer than `max_threads`.
        let (thread, threads) = ((split.library.thread)(), (split.library.threads)());
        let at = split.range.begin;
        let (begin, end) = (split.words[at].cast_signed(), split.words[at + 1].cast_signed());
        let (first, last) = part(begin, end, i64::from(thread), i64::from(threads));
        if first < last {
            let mut words = split.words.to_vec();
            words[at] = first.cast_unsigned();
            words[at + 1] = last.cast_unsigned();
            call_once(split.entry, &words, split.stack);
        }
    }
}

/// Returns the part of a range that a thread computes: neighbouring parts without gaps, which differ by one step in length.
fn part(begin: i64, end: i64, thread: i64, threads: i64) -> (i64, i64) {
    let length = i128::from(end) - i128::from(begin);
    let place = |thread: i64| (i128::from(begin) + length * i128::from(thread) / i128::from(threads.max(1))) as i64;
    (place(thread), place(thread + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_range_are_neighbours() {
        for (begin, end) in [(0, 1), (0, 2), (0, 7), (-3, 40), (5, 5), (i64::MIN, i64::MAX)] {
            for threads in [1, 2, 3, 16] {
                let parts: Vec<(i64, i64)> = (0..threads).map(|thread| part(begin, end, thread, threads)).collect();
                assert_eq!((parts[0].0, parts[parts.len() - 1].1), (begin, end));
                assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0), "{parts:?}");
            }
        }
    }

    #[test]
    fn one_thread_has_one_part_or_two_wherever_they_meet() {
        for cut in 0..20 {
            let [whole, parts] = [0, 1].map(|odd| calls(&[9, 3, 8], Range::of(1, 3).ok(), 1, 2 * cut + odd));
            assert_eq!(whole, [[9, 3, 8]]);
            let middle = parts[0][2];
            assert!((4..8).contains(&middle), "{parts:?}");
            assert_eq!(parts, [[9, 3, middle], [9, middle, 8]]);
        }
        for (begin, end) in [(3, 4), (3, 3), (4, 3)] {
            assert_eq!(calls(&[begin, end], Range::of(0, 2).ok(), 1, 7), [[begin, end]]);
        }
        assert_eq!(calls(&[0, 7], Range::of(0, 2).ok(), 3, 7), [[0, 2], [2, 4], [4, 7]]);
        assert_eq!(calls(&[0, 7], None, 3, 7), [[0, 7]]);
    }

    #[test]
    fn a_range_needs_two_parameters() {
        assert!(Range::of(0, 2).is_ok());
        assert!(Range::of(1, 2).is_err());
    }

    #[expect(unsafe_code, reason = "called by address")]
    unsafe extern "C" fn add_one(words: *const u64) {
        // SAFETY: the test gives an address of `words[2]` bytes and a range within them.
        unsafe {
            let to = *words as *mut u8;
            for place in *words.add(1)..*words.add(2) {
                *to.add(place as usize) += 1;
            }
        }
    }

    #[test]
    fn every_step_of_a_range_is_taken_once() {
        let mut bytes = vec![0_u8; 1000];
        let words = [bytes.as_mut_ptr() as u64, 0, 1000];
        // SAFETY: the words are those that the function reads.
        #[expect(unsafe_code, reason = "calls a function by address")]
        unsafe {
            call_split(add_one, &words, Some(StackUse::Bytes(64)), Range::of(1, 3).unwrap());
        }
        assert!(bytes.iter().all(|&byte| byte == 1));
    }
}
